/** The page: takes the name of a file, and shows a bar that moves by server-sent events of its job. */
export const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Transcoding</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
  progress { width: 100%; height: 1.5rem }
</style>
<h1>Transcoding</h1>
<form><label>File <input name="file" value="holiday.mov"></label> <button>Transcode</button></form>
<p><progress max="100" value="0" aria-label="Progress"></progress></p>
<p id="says" role="status">Nothing runs.</p>
<script>
  const bar = document.querySelector('progress');
  const says = document.querySelector('#says');
  const follow = (id) => {
    const events = new EventSource('/duly/api/jobs/' + id + '/events?logs=false');
    events.onmessage = ({ data }) => {
      const job = JSON.parse(data);
      bar.value = job.progress;
      says.textContent = job.status + (job.metadata.current_step ? ': ' + job.metadata.current_step : '');
    };
    events.addEventListener('end', () => events.close());
  };
  document.querySelector('form').onsubmit = async (event) => {
    event.preventDefault();
    const answer = await fetch('/videos', { method: 'POST', body: new FormData(event.target) });
    follow((await answer.json()).id);
  };
  const asked = new URLSearchParams(location.search).get('job');
  if (asked) follow(asked);
</script>
</html>
`;
