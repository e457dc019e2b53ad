"""The tasks of the example, and some that tests lead to where they want them."""
import sys

import tasks  # noqa: F401  the example's own
from duly_worker import task, work


@task("until_stopped")
def until_stopped(job):
    job.progress(10, "waiting")
    job.stop.wait()
    raise RuntimeError("stopped")


begun = set()


@task("longer_than_leases")
def longer_than_leases(job):
    if job.id not in begun:
        begun.add(job.id)
        job.progress(10, "waiting")
        job.stop.wait()
        raise RuntimeError("stopped")
    return {"told to stop": job.stop.wait(3)}


@task("not_json")
def not_json(job):
    return {1, 2, 3}


@task("ends_process")
def ends_process(job):
    import os

    job.progress(1)
    os._exit(9)


if __name__ == "__main__":
    print("ready", flush=True)
    work(concurrency=int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    print("done", flush=True)
