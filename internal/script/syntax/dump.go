package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// Dump draws the tree of a script, a node a line, for people who want to see what the parser understood.
func Dump(f *File) string {
	var b strings.Builder
	line := func(depth int, text string) { b.WriteString(strings.Repeat("  ", depth) + text + "\n") }
	for _, d := range f.CDefs {
		line(0, cdefLabel(d))
	}
	for _, e := range f.Config {
		line(0, "config "+e.Name+" = "+e.Value)
	}
	for _, i := range f.Imports {
		line(0, label(i))
	}
	for _, d := range f.MapDecls {
		line(0, fmt.Sprintf("map %s %s(%d)", d.Name, d.Kind, d.Max))
	}
	var tree func(n Node, depth int)
	tree = func(n Node, depth int) {
		line(depth, label(n))
		eachChild(n, func(c Node) { tree(c, depth+1) })
	}
	for _, m := range f.Macros {
		if !m.Std {
			tree(m, 0)
		}
	}
	for _, fn := range f.Funcs {
		tree(fn, 0)
	}
	for _, p := range f.Probes {
		tree(p, 0)
	}
	return b.String()
}

func cdefLabel(d CDef) string {
	switch d := d.(type) {
	case *CStruct:
		kind := "struct "
		if d.Union {
			kind = "union "
		}
		var fields []string
		for _, f := range d.Fields {
			text := cTypeText(f.Type)
			if f.Name != "" {
				text += " " + f.Name
			}
			if f.Bits >= 0 {
				text += ":" + strconv.Itoa(f.Bits)
			}
			fields = append(fields, text)
		}
		text := kind + d.Name + " { " + strings.Join(fields, "; ") + " }"
		if d.Packed {
			text += " packed"
		}
		if d.Align > 0 {
			text += " aligned " + strconv.Itoa(d.Align)
		}
		return text
	case *CEnum:
		var values []string
		for i, n := range d.Names {
			values = append(values, n+"="+strconv.FormatInt(d.Values[i], 10))
		}
		return "enum " + d.Name + " { " + strings.Join(values, ", ") + " }"
	case *CTypedef:
		return "typedef " + cTypeText(d.Type) + " " + d.Name
	case *CDefine:
		return "define " + d.Name + " " + d.Body
	}
	return ""
}

// cTypeText is a C type in the script's own notation, where what was written around the name stands behind.
func cTypeText(t CType) string {
	var b strings.Builder
	switch {
	case t.Inline != nil:
		b.WriteString(cdefLabel(t.Inline))
	case t.InlineEnum != nil:
		b.WriteString(cdefLabel(t.InlineEnum))
	default:
		b.WriteString(t.Base)
	}
	if t.Func {
		b.WriteString("()")
	}
	b.WriteString(modsText(t.Mods))
	return b.String()
}

// label describes a node without what is below it.
func label(n Node) string {
	switch n := n.(type) {
	case *Probe:
		if n.Name != "" {
			return "probe " + n.Name
		}
		return "probe"
	case *AttachPoint:
		return "at " + n.String()
	case *Macro:
		return "macro " + n.Name
	case *Func:
		return "function " + n.Name
	case *Import:
		return "import " + quote(n.Path)
	case *Block:
		if n.Value != nil {
			return "block with value"
		}
		return "block"
	case *ExprStmt:
		return "expression"
	case *Discard:
		return "discard"
	case *Assign:
		return "assign " + n.Op
	case *VarDecl:
		return "let"
	case *If:
		if n.Comptime {
			return "if comptime"
		}
		return "if"
	case *While:
		return "while"
	case *ForMap, *ForRange:
		return "for"
	case *Unroll:
		return "unroll"
	case *Jump:
		return n.Kind
	case *IntLit:
		return "int " + strconv.FormatUint(n.Value, 10)
	case *StrLit:
		return "string " + quote(n.Value)
	case *BoolLit:
		return "bool " + strconv.FormatBool(n.Value)
	case *Ident:
		return "name " + n.Name
	case *Positional:
		return "parameter $" + strconv.Itoa(n.N)
	case *PositionalCount:
		return "parameter count"
	case *Var:
		return "variable " + n.Name
	case *Map:
		return "map " + n.Name
	case *MapAccess:
		return "entry"
	case *Call:
		return "call " + n.Name
	case *Unary:
		return "unary " + n.Op
	case *Binary:
		return "binary " + n.Op
	case *Ternary:
		return "ternary"
	case *IncDec:
		if n.Post {
			return "postfix " + n.Op
		}
		return "prefix " + n.Op
	case *Cast:
		return "cast"
	case *Field:
		return "field " + n.Name
	case *TupleField:
		return "field " + strconv.Itoa(n.Index)
	case *Index:
		return "index"
	case *Tuple:
		return "tuple"
	case *Record:
		return "record " + strings.Join(n.Names, ", ")
	case *Sizeof:
		return "sizeof"
	case *Offsetof:
		return "offsetof " + strings.Join(n.Path, ".")
	case *Typeinfo:
		return "typeinfo"
	case *Comptime:
		return "comptime"
	case *BlockExpr:
		return "block expression"
	case *TypeExpr:
		if n.Base != "" {
			return "type " + n.Base + modsText(n.Mods)
		}
		return "typeof" + modsText(n.Mods)
	}
	return fmt.Sprintf("%T", n)
}
