# Writes, each time the program is stopped by SIGXCPU, the thread and the addresses of its frames.
import os

import gdb

for setting in (
    "pagination off",
    "confirm off",
    "debuginfod enabled off",
    "backtrace past-main on",
    "backtrace past-entry off",
    "backtrace limit 400",
    "print thread-events off",
):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass")
gdb.execute("handle SIGXCPU stop print nopass")
out = open(os.environ["STACKS_OUT"], "w")
open(os.environ["STACKS_ATTACHED"], "w").close()
for _ in range(int(os.environ["STACKS_N"])):
    try:
        gdb.execute("continue", to_string=True)
        out.write("%d\n" % gdb.selected_thread().ptid[1])
        frame = gdb.newest_frame()
        while frame is not None:
            # The others are not on the stack: gdb makes them up of debug information.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                # Frames of Python functions stand for those of the loop that executes them.
                loop = (frame.name() or "").startswith("_PyEval_EvalFrameDefault")
                out.write("%s%x\n" % ("!" if loop else "", frame.pc()))
            try:
                frame = frame.older()
            except gdb.error:
                break
        out.write("--\n")
        out.flush()
    except (gdb.error, AttributeError) as err:
        print(err)
        break
out.close()
gdb.execute("detach", to_string=True)
