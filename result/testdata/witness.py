#!/usr/bin/env python3
"""Writes printf.tsv and strftime.tsv: what the C library (glibc) prints. Run it here to make them anew."""
import ctypes
import itertools
import os
import time

libc = ctypes.CDLL(None)


def quote(s):
    return s.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def printf(fmt, *args):
    buf = ctypes.create_string_buffer(4096)
    n = libc.snprintf(buf, ctypes.c_size_t(4096), fmt.encode(), *args)
    return buf.raw[:n].decode("latin-1")


def row(out, fmt, kind, values, make):
    """One line for each format: the format, the kind of its arguments, and pairs of argument and output."""
    cols = [fmt, kind]
    for v in values:
        cols += [v.hex() if kind == "float" else str(v), quote(printf(fmt, make(v)))]
    out.write("\t".join(cols) + "\n")


with open("printf.tsv", "w") as out:
    flags = ["", "-", "+", " ", "#", "0", "-0", "+0", "#0", "-#"]
    fields = ["", "7", ".0", ".3", "7.3", "3.7"]
    ints = [0, -1, 42, -70000, 2**63 - 1]
    floats = [0.0, -1.5, 1e15, 1234567.0, 0.00001, float("inf")]
    for flag, field in itertools.product(flags, fields):
        for verb in "dioxuX":
            for length in ["", "hh", "h", "l"] if field in ("", "7") else [""]:
                row(out, "[%" + flag + field + length + verb + "]", "int", ints, ctypes.c_int64)
        for verb in "eEfFgG":
            row(out, "[%" + flag + field + verb + "]", "float", floats, ctypes.c_double)
        if ".0" not in field:  # the first digit of %a is the library's choice
            row(out, "[%" + flag + field + "a]", "float", [-1.5], ctypes.c_double)
    for flag, field in itertools.product(["", "-"], fields):
        row(out, "[%" + flag + field + "s]", "string", ["", "a", "abcdefghij"], str.encode)
        if "." not in field:
            row(out, "[%" + flag + field + "c]", "int", [65], ctypes.c_int64)

with open("strftime.tsv", "w") as out:
    convs = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%QEfi"
    times = [1, 951782400, 1230768000, 1483228799, 1700000000, 1709164800, 4102444800]
    for zone in ["UTC", "America/New_York", "Asia/Kolkata"]:
        os.environ["TZ"] = zone
        time.tzset()
        for t in times:
            for conv in convs:
                for flag in ["", "_", "-", "0", "^", "#", "E", "O", "6", "_6", "06", "^12", "-4"]:
                    if flag != "" and (t != 1700000000 or zone != "Asia/Kolkata" or conv in "QEfi"):
                        continue
                    if conv == "z" and len(flag) > 1 or flag == "6":
                        continue  # glibc fills the width twice
                    fmt = "[%" + flag + conv + "]"
                    out.write("%s\t%d\t%s\t%s\n" % (zone, t, fmt, quote(time.strftime(fmt, time.localtime(t)))))
