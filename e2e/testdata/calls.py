# Functions of Python that are traced: the program writes each call to the file of its argument, as the trace shows it
# when the function returns.
import asyncio
import functools
import sys
import threading

calls = open(sys.argv[1], "w", encoding="utf-8")


def says(text):
    print(text, file=calls)


class Number(int):
    pass


class Name(str):
    pass


def values(n, text, flag=None, *rest, named=1.5, **others):
    return n


def kept(x, y):
    def inner(z):
        return x + y + z
    return inner(1)


def waits(n):
    for i in range(n):
        yield i


async def awaited(n):
    await asyncio.sleep(0)
    return n


def throws(n):
    raise ValueError(n)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def wrapped(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)
    return wrapper


class Shape:
    def __init__(self, side):
        self._side = side

    @property
    def side(self):
        return self._side

    @classmethod
    def made(cls, side):
        return cls(side)

    @staticmethod
    def area(side):
        return side * side

    @wrapped
    def grow(self, by):
        self._side += by


@functools.lru_cache(maxsize=None)
def cached(n):
    return n


def busy(n):
    return n


table = {
    int: lambda n: n + 1,
    str: lambda n: n + 2,
}


# A function of more constants than one instruction can tell alone, by which versions from 3.12 on return them.
exec(compile("def constants(n):\n" + "".join(f"    if n == {i}000:\n        return 'is {i}'\n" for i in range(300)),
             __file__, "exec"))


def work(count):
    for i in range(count):
        n = (-1) ** i * 7 ** (i % 60)
        text = ("plain", "é" * (i % 9), "€uro %d" % i, "😀%d" % i, "", 'a"b\n', "x" * 190)[i % 7]
        flag, shown = ((None, "None"), (True, "true"), (False, "false"), (b"ab", '"ab"'))[i % 4]
        rest = tuple(range(i % 3))
        values(n, text, flag, *rest, named=i / 4, other=1)
        quoted = text.replace('"', '\\"').replace("\n", "\\n")
        shape = f'{n}, text="{quoted}", flag={shown}, named={i / 4:g}, rest=tuple({len(rest)}), others=dict(1)'
        says(f"__main__.values(n={shape}) = {n}")
        if i % 10 == 0:
            kept(i, 2)
            says(f"__main__.kept.<locals>.inner(z=1) = {i + 3}")
            says(f"__main__.kept(x={i}, y=2) = {i + 3}")
            list(waits(3))
            says("__main__.waits(n=3) = None")
            try:
                throws(Number(i))
            except ValueError:
                throws_text = Name("n")
            deep(2)
            for k in range(3):
                says(f"__main__.deep(n={k}) = {k}")
            asyncio.run(awaited([1, 2]))
            says("__main__.awaited(n=list(2)) = list(2)")
            shape = Shape.made(i)
            says("__main__.Shape.made(cls=<class>, side=%d) = <Shape>" % i)
            shape.side
            says(f"__main__.Shape.side(self=<Shape>) = {i}")
            Shape.area(side=throws_text and i)
            says(f"__main__.Shape.area(side={i}) = {i * i}")
            shape.grow(1)
            says("__main__.Shape.grow(self=<Shape>, by=1) = None")
            table[int](i)
            table[str](i)
            cached(i)
            says(f"__main__.cached(n={i}) = {i}")
            constants(299000)
            says("__main__.constants(n=299000) = " + ("?" if sys.version_info >= (3, 12) else '"is 299"'))


def beside(count):
    threads = [threading.Thread(target=lambda: [busy(i) for i in range(count)]) for _ in range(4)]
    for t in threads:
        t.start()
    sys.settrace(lambda *_: None)
    for i in range(count):
        busy(i)
    sys.settrace(None)
    sys.setprofile(lambda *_: None)
    for i in range(count):
        busy(i)
    sys.setprofile(None)
    for t in threads:
        t.join()


insides = 0


def inside(n):
    return n


def calls_inside(*_):
    global insides
    insides += 1
    inside(insides)


def watching(count):
    # What traces and profiles calls a function, before and after that is traced itself.
    for _ in range(count):
        for watch in sys.setprofile, sys.settrace:
            watch(calls_inside)
            watched(0)
            watch(None)
            calls_inside()
        sys.settrace(lambda *_: None)
        calls_inside()
        sys.settrace(None)


def watched(n):
    return n


print("ready", flush=True)
sys.stdin.readline()
work(int(sys.argv[2]))
beside(1000)
watching(100)
with open(sys.argv[1] + ".inside", "w") as told:
    print(insides, file=told)
calls.close()
print("done", flush=True)
sys.stdin.readline()
