"""A whole Duly worker in plain Python 3, without dependencies: takes jobs over HTTP, keeps their leases, hands outcomes in."""
import http.client, json, os, signal, socket, threading, time, traceback, urllib.error, urllib.request, uuid

URL = os.environ.get("DULY_URL", "http://127.0.0.1:4600") + "/api/worker/"
HEADERS = {"Authorization": "Bearer " + os.environ.get("DULY_KEY", ""), "Content-Type": "application/json"}
NAME = os.environ.get("DULY_WORKER", "python-%s-%d" % (socket.gethostname(), os.getpid()))
tasks, running = {}, {}

def task(name):
    """@task("resize") above a function makes it the handler of the jobs of that type."""
    return lambda handler: tasks.setdefault(name, handler)

def call(verb, **body):
    """Asks until it is answered: every call of the protocol is safe to repeat. What the server refuses is raised."""
    request = urllib.request.Request(URL + verb, json.dumps(body).encode(), HEADERS)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except (OSError, ValueError, http.client.HTTPException) as error:  # away, or gone in the middle of its answer
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise RuntimeError(error.read().decode()) from None
            time.sleep(1)

class Job:
    def __init__(self, about):
        self.__dict__.update(about, line=0)  # id, type, input, metadata, attempt, fence, ...
        self.lease = {"id": self.id, "fence": self.fence}  # what is said under an old fence does not count
        self.stop = threading.Event()  # set when the job was cancelled, has run too long or is no longer ours

    def progress(self, percent, message="", **step):  # step=2, of=4
        call("report", reports=[{**self.lease, "progress": {"percent": percent, "message": message, **step}}])

    def log(self, message, level="info"):
        self.line += 1
        call("report", reports=[{**self.lease, "logs": [{"line": self.line, "message": message, "level": level}]}])

    def run(self, slots):
        try:
            call("settle", outcomes=[{**self.lease, "outcome": "completed", "result": tasks[self.type](self)}])
        except Exception as error:  # of a job that was asked to cancel it means: cancelled
            about = {"name": type(error).__name__, "message": str(error), "stack": traceback.format_exc()}
            call("settle", outcomes=[{**self.lease, "outcome": "failed", "error": about}])
        finally:
            del running[self.fence]
            slots.release()

def heartbeat(every):
    while not time.sleep(every):
        jobs = list(running.values())
        for job, lease in zip(jobs, call("heartbeat", worker=NAME, leases=[job.lease for job in jobs])["leases"]):
            if lease["state"] != "kept":
                job.stop.set()

def work(concurrency=4):
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cuts the claim that waits; what runs is finished
    about = dict(worker=NAME, host=socket.gethostname(), pid=os.getpid(), tasks=[{"type": name} for name in tasks])
    slots, heartbeat_thread, drain = threading.Semaphore(concurrency), None, False
    try:
        while not drain and slots.acquire():
            token = uuid.uuid4().hex  # a claim that is asked again with its token is given the same jobs
            given = call("claim", **about, concurrency=concurrency, running=len(running), wait=20, token=token)
            for job in map(Job, given["jobs"]):
                running[job.fence] = job  # by fence: a job that was lost may come back while its first run is still here
                threading.Thread(target=job.run, args=(slots,)).start()
            if not given["jobs"]:
                slots.release()
            if not heartbeat_thread:
                heartbeat_thread = threading.Thread(target=heartbeat, args=(given["heartbeat_ms"] / 1000,), daemon=True)
                heartbeat_thread.start()
            drain = given["drain"]
    except KeyboardInterrupt:
        pass
