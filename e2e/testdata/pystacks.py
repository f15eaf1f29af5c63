"""Writes three bytes to /dev/null from many kinds of calls, and to a file by which functions that was, innermost first."""

import asyncio
import contextlib
import functools
import os
import sys
import threading

import pystacks_module

log = open(sys.argv[1], "w")
sink = os.open("/dev/null", os.O_WRONLY)
lock = threading.Lock()


def note():
    frame, frames = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith(".py") and "pystacks" in code.co_filename:
            frames.append(f"{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    log.write(" ".join(frames) + "\n")
    return b"xyz"


def leaf():
    os.write(sink, note())


def deep(n):
    if n == 0:
        return leaf()
    return deep(n - 1)


def counted(n):
    for i in range(n):
        leaf()
        yield i


def decorated(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner


class Shape:
    def __init__(self):
        leaf()

    @property
    def area(self):
        leaf()
        return 1

    @classmethod
    def made(cls):
        return cls()

    def __lt__(self, other):
        leaf()
        return False

    @decorated
    def grow(self, n):
        def within():
            deep(n)
        within()


async def waits(n):
    leaf()
    await asyncio.sleep(0)
    leaf()
    return n


async def all_of_them():
    await asyncio.gather(waits(1), waits(2))


def throws():
    try:
        raise ValueError
    except ValueError:
        leaf()
    finally:
        leaf()


@contextlib.contextmanager
def within():
    leaf()
    yield
    leaf()


def work():
    leaf()
    deep(25)
    list(counted(3))
    [leaf() for _ in range(2)]
    {k: deep(1) for k in "ab"}
    sorted([3, 1, 2], key=lambda n: leaf() or n)
    sorted([Shape.made(), Shape()])
    Shape().grow(3)
    Shape().area
    list(map(lambda n: deep(n), [1, 2]))
    asyncio.run(all_of_them())
    throws()
    with within():
        leaf()
    pystacks_module.call(leaf)
    functools.reduce(lambda a, b: deep(2), [1, 2, 3])
    exec(compile("deep(1)", "pystacks_inner.py", "exec"), globals())
    long_one()


# A function whose table of lines is long.
exec(compile("def long_one():\n" + "    x = 1\n" * 40 + "    leaf()\n", "pystacks_long.py", "exec"))

print("ready", flush=True)
while sys.stdin.readline():
    work()
    other = threading.Thread(target=work)
    other.start()
    other.join()
    log.flush()
    print("done", flush=True)
