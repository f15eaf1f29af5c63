package cpython

import (
	"trocar/internal/binary/objfile"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
)

// The interpreter keeps frames of its own for Python functions, each thread in a list from the innermost outwards. The
// main loop executes many of them in one frame of the native stack: until 3.11 that with which it was entered is
// marked, from 3.12 on there is one behind it that is no function's.

// Frames tells how the frames of Python functions are found in a process; nil: it has no interpreter that is known.
func Frames(maps []target.Mapping, open func(*target.Mapping) (*objfile.File, error)) (frames *probe.PythonStacks) {
	at, minor := Mapped(maps)
	lay := version(minor)
	if at == nil || lay == nil {
		return nil
	}
	file, err := open(at)
	if err != nil {
		return nil
	}
	defer func() {
		if err != nil {
			frames = nil // the file is damaged
		}
	}()
	bias, ok := file.Bias(at.Start, at.Offset, at.End-at.Start)
	if !ok {
		return nil
	}
	defer objfile.Guard(&err)()
	runtime, _, ok1 := file.Symbol("_PyRuntime")
	codeType, _, ok2 := file.Symbol("PyCode_Type")
	loop, size, ok3 := file.Symbol("_PyEval_EvalFrameDefault")
	if !ok1 || !ok2 || !ok3 || size == 0 {
		return nil
	}
	const (
		ownedByStack = 3 // FRAME_OWNED_BY_CSTACK
		lines        = 136
	)
	p := &probe.PythonStacks{
		Loop: [][2]uint64{{loop + bias, loop + bias + size}},
		Main: runtime + bias + uint64(lay.head), Threads: int(lay.threads), Next: 8, ID: int(lay.thread),
		Running: int(lay.running), Code: int(lay.code), Instruction: int(lay.instruction), Previous: 8,
		Entered: 70, Mark: ownedByStack, Shim: true, CodeType: codeType + bias,
		Name: int(lay.qualified), File: int(lay.file), Line: int(lay.line), Lines: lines,
		Instructions: int(lay.instructions), Text: int(lay.ascii),
	}
	if lay.frame != absent {
		p.Indirect = int(lay.frame) + 1
	}
	if minor == 11 {
		p.Previous, p.Entered, p.Mark, p.Shim = 48, 68, 1, false
	}
	if cold, size, ok := file.Symbol("_PyEval_EvalFrameDefault.cold"); ok && size > 0 {
		p.Loop = append(p.Loop, [2]uint64{cold + bias, cold + bias + size})
	}
	return p
}
