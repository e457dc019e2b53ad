"""A whole Duly worker in plain Python 3, without dependencies: takes jobs over HTTP, keeps their leases, hands outcomes in."""
import json, os, signal, socket, threading, time, traceback, urllib.error, urllib.request

URL = os.environ.get("DULY_URL", "http://127.0.0.1:4600")
NAME = os.environ.get("DULY_WORKER", "python-%s-%d" % (socket.gethostname(), os.getpid()))
tasks, running = {}, {}


def task(name):
    """@task("resize") above a function makes it the handler of the jobs of that type."""
    return lambda handler: tasks.setdefault(name, handler)


def call(verb, body):
    """Asks until it is answered: every call of the protocol is safe to repeat. What the server refuses is raised."""
    headers = {"Authorization": "Bearer " + os.environ["DULY_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(URL + "/api/worker/" + verb, json.dumps(body).encode(), headers)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise RuntimeError(error.read().decode()) from None
        except (OSError, ValueError):
            pass  # the server is away, or went away in the middle of its answer
        time.sleep(1)


class Job:
    def __init__(self, about):
        self.__dict__.update(about)  # id, type, input, metadata, attempt, fence, ...
        self.stop = threading.Event()  # set when the job was cancelled, has run too long or is no longer ours
        self.line = 0

    def tell(self, verb, kind, **said):
        return call(verb, {kind: [{"id": self.id, "fence": self.fence, **said}]})

    def progress(self, percent, message="", **step):  # step=2, of=4
        self.tell("report", "reports", progress={"percent": percent, "message": message, **step})

    def log(self, message, level="info"):
        self.line += 1
        self.tell("report", "reports", logs=[{"line": self.line, "message": message, "level": level}])

    def run(self, slots):
        try:
            self.tell("settle", "outcomes", outcome="completed", result=tasks[self.type](self))
        except Exception as error:  # of a job that was asked to cancel it means: cancelled
            about = {"name": type(error).__name__, "message": str(error), "stack": traceback.format_exc()}
            self.tell("settle", "outcomes", outcome="failed", error=about)
        finally:
            del running[self.id]
            slots.release()


def beat(every):
    while True:
        time.sleep(every)
        jobs = list(running.values())
        leases = [{"id": job.id, "fence": job.fence} for job in jobs]
        for job, lease in zip(jobs, call("heartbeat", {"worker": NAME, "leases": leases})["leases"]):
            if lease["state"] != "kept":
                job.stop.set()


def work(concurrency=4):
    def quit(*_):  # cuts the claim that waits; what runs is finished, and its leases are kept until then
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, quit)
    slots, beating = threading.Semaphore(concurrency), None
    about = {"worker": NAME, "host": socket.gethostname(), "pid": os.getpid(), "concurrency": concurrency, "wait": 20}
    try:
        while slots.acquire():
            given = call("claim", {**about, "running": len(running), "tasks": [{"type": name} for name in tasks]})
            for job in map(Job, given["jobs"]):
                running[job.id] = job
                threading.Thread(target=job.run, args=(slots,)).start()
            if not given["jobs"]:
                slots.release()
            if beating is None:
                beating = threading.Thread(target=beat, args=(given["beat_ms"] / 1000,), daemon=True)
                beating.start()
            if given["drain"]:
                break
    except KeyboardInterrupt:
        pass
