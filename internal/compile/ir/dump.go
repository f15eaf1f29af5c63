package ir

import (
	"fmt"
	"io"
	"strings"
)

var (
	opNames   = [...]string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "s>>", "neg"}
	condNames = [...]string{"==", "!=", "<", "<=", ">", ">=", "s<", "s<=", "s>", "s>=", "&"}
)

func (r Reg) String() string {
	switch r {
	case FP:
		return "fp"
	case NoReg:
		return "_"
	}
	return fmt.Sprintf("v%d", int32(r))
}

func (o Operand) String() string {
	switch o.kind {
	case opReg:
		return o.reg.String()
	case opImm:
		return fmt.Sprint(o.imm)
	case opAddr:
		return fmt.Sprintf("%v%+d", o.reg, o.imm)
	case opMap:
		return "map " + o.name
	case opMapValue:
		return fmt.Sprintf("map %s[0]+%d", o.name, o.imm)
	}
	return "func " + o.name
}

func (i *inst) String() string {
	width := ""
	if !i.wide {
		width = " (32)"
	}
	switch i.kind {
	case kMovImm:
		return fmt.Sprintf("%v = %d", i.dst, i.imm)
	case kMov:
		return fmt.Sprintf("%v = %v%s", i.dst, i.a, width)
	case kALU:
		if i.op == Neg {
			return fmt.Sprintf("%v = -%v", i.dst, i.dst)
		}
		return fmt.Sprintf("%v %s= %v%s", i.dst, opNames[i.op], i.a, width)
	case kALUImm:
		return fmt.Sprintf("%v %s= %d%s", i.dst, opNames[i.op], i.imm, width)
	case kEnd:
		return fmt.Sprintf("%v = swap%d %v", i.dst, i.imm, i.dst)
	case kLoad:
		return fmt.Sprintf("%v = u%d[%v%+d]", i.dst, 8*i.size, i.a, i.off)
	case kStore:
		return fmt.Sprintf("u%d[%v%+d] = %v", 8*i.size, i.a, i.off, i.b)
	case kStoreImm:
		return fmt.Sprintf("u%d[%v%+d] = %d", 8*i.size, i.a, i.off, i.imm)
	case kAtomicAdd:
		return fmt.Sprintf("atomic u%d[%v%+d] += %v", 8*i.size, i.a, i.off, i.b)
	case kXchg:
		return fmt.Sprintf("%v = xchg u%d[%v%+d]", i.dst, 8*i.size, i.a, i.off)
	case kFetchAdd:
		return fmt.Sprintf("%v = fetch u%d[%v%+d] += %[1]v", i.dst, 8*i.size, i.a, i.off)
	case kMapValue:
		return fmt.Sprintf("%v = map %s[0]+%d", i.dst, i.name, i.imm)
	case kKernelVar:
		return fmt.Sprintf("%v = kernel variable %d", i.dst, i.imm)
	case kCall:
		args := make([]string, len(i.args))
		for j, a := range i.args {
			args[j] = a.String()
		}
		name := i.fn.String()
		if i.kfunc != 0 {
			name = fmt.Sprintf("kfunc#%d", i.kfunc)
		}
		return fmt.Sprintf("%v = %s(%s)", i.dst, name, strings.Join(args, ", "))
	case kLabel:
		return fmt.Sprintf("L%d:", i.label)
	case kJump:
		return fmt.Sprintf("goto L%d", i.label)
	case kJumpIf:
		return fmt.Sprintf("if %v %s %v goto L%d", i.a, condNames[i.cond], i.b, i.label)
	case kJumpIfImm:
		return fmt.Sprintf("if %v %s %d goto L%d", i.a, condNames[i.cond], i.imm, i.label)
	case kExit:
		if i.a == NoReg {
			return fmt.Sprintf("exit %d", i.imm)
		}
		return fmt.Sprintf("exit %v", i.a)
	case kParam:
		return fmt.Sprintf("%v = param %d", i.dst, i.imm)
	}
	return "; " + i.name
}

// Dump prints the program before register assignment.
func (p *Program) Dump(w io.Writer) {
	for _, f := range p.Funcs {
		fmt.Fprintf(w, "func %s (frame %d)\n", f.name, f.deep)
		for i := range f.ins {
			indent := "    "
			if f.ins[i].kind == kLabel {
				indent = "  "
			}
			fmt.Fprintf(w, "%s%s\n", indent, f.ins[i].String())
		}
	}
}
