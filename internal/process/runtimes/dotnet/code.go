package dotnet

import (
	"trocar/internal/binary/clr"
	"trocar/internal/binary/code"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/runtimes"
	"trocar/internal/process/target"
)

// noDebug is said of assemblies, whose debug information (PDB) is not read.
const noDebug = "their metadata tells what is shown"

// Runtime is .NET's.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: ".NET", NoDebug: noDebug, Open: openCode, Inside: inside, Readable: readable, Types: openTypes,
		Renews: true,
	}
}

// Code is the code of an assembly.
type Code struct {
	file  *objfile.File
	image *clr.Image
	pid   target.PID // whose types are looked at, 0: only the file

	opened   bool
	closed   bool
	running  *world // types of the process
	err      error  // why there are none
	siblings map[string]*objfile.File
	files    map[*clr.Image]*objfile.File
	objects  map[string]*types.Type
}

func openCode(f runtimes.File) runtimes.Code {
	if im := f.Object.Managed(); im != nil {
		return &Code{
			file: f.Object, image: im, pid: target.PID(f.PID), siblings: map[string]*objfile.File{},
			files: map[*clr.Image]*objfile.File{im: f.Object}, objects: map[string]*types.Type{},
		}
	}
	return nil
}

// At: all code of an assembly is .NET's.
func (c *Code) At(uint64) bool { return true }

// Owns: as At.
func (c *Code) Owns(uint64) bool { return true }

// Site: the first instruction, since the runtime looks for none behind it.
func (c *Code) Site([]byte) int { return 0 }

// Numbered: arg0, arg1 … are C's.
func (c *Code) Numbered() bool { return false }

// Assembly: none is written in assembly.
func (c *Code) Assembly(uint64) *probe.Scope { return nil }

// Call: a call stays on its thread and its stack.
func (c *Code) Call(uint64, bool) *probe.Call { return nil }

const entryInstead = "probe the entry with uprobe"

// NoReturn: the places that Exits finds.
func (c *Code) NoReturn(*objfile.Func) *probe.Refusal { return nil }

// Exits are the first instructions of a method's epilogues.
func (c *Code) Exits(fn *objfile.Func) (exits []runtimes.Exit, refusal *probe.Refusal) {
	var err error
	defer objfile.Guard(&err)()
	refusal = &probe.Refusal{Reason: "its code cannot be read", Way: entryInstead} // unless the end is reached
	body, ok := c.image.BodyAt(uint32(fn.Addr))
	switch {
	case !ok:
		refusal.Reason = "no method is known to begin there"
		return nil, refusal
	case c.image.Split():
		refusal.Reason = "parts of methods that are rarely used lie elsewhere in the file, where it may return as well"
		return nil, refusal
	}
	text := c.image.Code(body.Addr, int(body.Size))
	if len(text) != int(body.Size) || len(text) > code.MaxFunction {
		return nil, refusal
	}
	found, err := code.Epilogues(c.file.Arch(), text)
	switch {
	case err != nil:
		refusal.Reason = "where it returns is not known (" + err.Error() + "), and no return address may be replaced: " +
			"the runtime reads them for exceptions and garbage collection"
	case len(found) == 0:
		refusal.Reason = "it never returns"
	default:
		refusal = nil
	}
	for _, e := range found {
		exits = append(exits, runtimes.Exit{
			Addr: fn.Addr + uint64(e.At), Frame: probe.Frame{Reg: e.Reg, Offset: e.Offset}, Tail: e.Tail,
		})
	}
	return exits, refusal
}

// Inside refuses places in an epilogue behind its first instruction: the runtime decodes these of threads that it
// stops.
func (c *Code) Inside(start, addr uint64) (refusal *probe.Refusal) {
	var err error
	defer objfile.Guard(&err)()
	const way = "probe the method's entry or its return"
	refusal = &probe.Refusal{Reason: "its code cannot be read", Way: way} // unless the end is reached
	body, ok := c.image.BodyAt(uint32(start))
	if !ok {
		refusal.Reason = "no method is known to begin there"
		return refusal
	}
	found, err := code.Epilogues(c.file.Arch(), c.image.Code(body.Addr, int(body.Size)))
	if err != nil {
		refusal.Reason = "which instructions take its frame down is not known (" + err.Error() + "): the runtime decodes " +
			"those of threads that it stops"
		return refusal
	}
	for _, e := range found {
		if at := int64(addr - start); at > int64(e.At) && at < int64(e.End) {
			refusal.Reason = "the frame is being taken down there, and the runtime decodes the code of threads that it stops"
			return refusal
		}
	}
	return nil
}

// Ruled: there is no debug information.
func (c *Code) Ruled(*debuginfo.Function) bool { return false }

// Arguments: see Entry.
func (c *Code) Arguments(*debuginfo.Function, *probe.Point) {}

// TypeNamed finds no types by name.
func (c *Code) TypeNamed(string) (*types.Type, bool) { return nil, false }

// Dynamic: objects' types are described by the running program, not by the file.
func (c *Code) Dynamic(uint64) (*types.Type, bool) { return nil, false }

// Copies: where methods were inlined is not known.
func (c *Code) Copies(string) []runtimes.Copy { return nil }
