"""Two tasks of a worker in Python. Run: DULY_KEY=duly_… python3 tasks.py"""
from duly_worker import task, work


@task("count_words")
def count_words(job):
    lines = job.input["text"].splitlines()
    total = 0
    for number, line in enumerate(lines, 1):
        if job.stop.is_set():
            raise RuntimeError("told to stop")
        total += len(line.split())
        job.log("line %d has %d words" % (number, len(line.split())))
        job.progress(100 * number / len(lines), "line %d" % number, step=number, of=len(lines))
    return {"words": total}


@task("divide")
def divide(job):
    return job.input["a"] / job.input["b"]


if __name__ == "__main__":
    work()
