package debuginfo

import "strings"

// maxQualified bounds the length of a name with its scopes.
const maxQualified = 1 << 16

// declared is the entry at the end of the chain of DW_AT_abstract_origin and DW_AT_specification: the one that stands
// where the thing is declared.
func (d *die) declared() *die {
	for range maxOrigins {
		o := d.origin()
		if o == nil {
			break
		}
		d = o
	}
	return d
}

// qualified is the entry's name with those of the namespaces and classes around it.
func (d *die) qualified() string {
	name := d.fullName() + d.arguments(false)
	at := d.declared()
	return at.u.prefix(at.off) + name
}

// prefix is the names of the scopes around an entry, each with "::".
func (u *unit) prefix(off int) string {
	if !u.load().lang.HasScopes() {
		return ""
	}
	if ro := u.root; !ro.haveScopes && ro.scopeQuestions < wholeAfter {
		ro.scopeQuestions++
		return u.searchPrefix(off)
	}
	return u.scopePrefix(u.scopeOf(off))
}

// unnamedNamespace is what a namespace without a name is called.
const unnamedNamespace = "(anonymous namespace)"

// scopeName is what an entry is called in the names of what is in it.
func (d *die) scopeName() string {
	if name := d.fullName(); name != "" {
		return name + d.arguments(false)
	}
	switch d.tag {
	case tagNamespace:
		return unnamedNamespace
	case tagUnionType:
		return "(anonymous union)"
	case tagClassType:
		return "(anonymous class)"
	}
	return "(anonymous struct)"
}

// plain is a name without template arguments at its end: "get<int>" is also found as "get".
func plain(name []byte) []byte {
	n := len(name)
	if n == 0 || name[n-1] != '>' {
		return name
	}
	depth := 0
	for i := n - 1; i > 0; i-- {
		switch name[i] {
		case '>':
			if i > 0 && name[i-1] == '-' { // operator->
				if depth == 0 {
					return name
				}
				continue
			}
			depth++
		case '<':
			if depth--; depth == 0 {
				if strings.HasPrefix(string(name[:i]), "operator") && strings.Trim(string(name[8:i]), "<>=-") == "" {
					return name // operator<, operator<=>
				}
				return name[:i]
			}
		}
	}
	return name
}

// lastPart is what stands behind the last "::" of a qualified name that isn't within template arguments or parentheses.
func lastPart(name string) string {
	depth := 0
	if i := strings.Index(name, "operator"); i >= 0 && (i == 0 || name[i-1] == ':') {
		return name[i:]
	}
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>', ')', '}', ']':
			depth++
		case '<', '(', '{', '[':
			depth--
		case ':':
			if depth <= 0 && name[i-1] == ':' {
				return name[i+1:]
			}
		}
	}
	return name
}
