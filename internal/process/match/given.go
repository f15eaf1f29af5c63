package match

import (
	"context"
	"slices"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// Where a script asks for what all functions of a pattern are given (funcargs, funcretval), their types are not read
// before one is called: most never are. What has to be known before is which registers point to texts, since these are
// read when the function is called.

// textsAt are the registers that point to texts at a point's place, if that is asked for.
func (m *matcher) textsAt(b *binary, entry uint64, p *probe.Point) types.TextWord {
	if !m.needs.Given || !p.Entry && p.Kind != probe.Uretprobe {
		return 0
	}
	if !b.askedTexts {
		b.askedTexts = true
		if info, err := b.debug(); err == nil {
			if b.texts, err = info.Texts(); err != nil {
				m.diags.Warnf(diag.Span{}, "not all that is known of functions of %s can be read: %s", b.name, err)
			}
		}
	}
	passed, ok := b.texts[entry]
	if !ok {
		return textsOf(b.obj.Arch(), p)
	}
	all, _, _ := b.obj.Arch().Passing()
	of, in := passed.Args, b.obj.Arch().IntegerArgs()
	if p.Kind == probe.Uretprobe {
		of, in = passed.Results, all[:min(1, len(all))]
	}
	if p.Call != nil {
		in = b.obj.Arch().OwnIntegers()
	}
	at := func(n int) int {
		if n < 0 || n >= len(in) {
			return -1
		}
		return slices.Index(all, in[n])
	}
	var w types.TextWord
	for ; of != 0; of >>= 8 {
		n := int(of&(debuginfo.SizedText-1)) - 1
		length := -1
		if of&debuginfo.SizedText != 0 {
			if length = at(n + 1); length < 0 {
				continue // on the stack
			}
		}
		w.Add(at(n), length)
	}
	return w
}

// Signature is what the function of a point is given, or gives back where it returns, as far as that is known.
func (r *Result) Signature(p *probe.Point) (list []probe.Var, known bool) {
	if r.files == nil || p.Path == "" {
		return nil, false
	}
	b := r.files.byPath(p.Path)
	if b == nil {
		return nil, false
	}
	var diags diag.List // it is too late for them
	m := newMatcher(context.Background(), r.files.opts, &diags)
	m.files, m.stays = r.files, true
	m.needs = probe.Needs{Args: true, Retval: true}
	q, entry := *p, p.FunctionStart()
	q.Scope = nil
	code := b.runtimeAt(entry)
	if code != nil && p.Kind == probe.Uretprobe {
		q.Scope = code.Result(&objfile.Func{Symbol: objfile.Symbol{Addr: entry, Size: b.obj.CodeSize(entry)}})
	} else {
		m.typed(&spec{ap: &syntax.AttachPoint{}}, b, entry, &q)
	}
	switch {
	case p.Kind != probe.Uretprobe:
		if q.Scope == nil || len(q.Scope.Args) == 0 && !m.takesNothing(b, entry) {
			return nil, false
		}
		_, first := q.Scope.Locals()
		return q.Scope.Args[:first], true
	case q.Scope == nil || q.Scope.Retval == nil:
		return nil, m.takesNothing(b, entry) // nor gives it back
	case p.Tail:
		return []probe.Var{{Place: types.Unknown("the function goes on in another one")}}, true
	}
	v := q.Scope.Retval
	switch {
	case v.Type != nil && v.Type.Kind == types.Struct && v.Type.Name == probe.NoResults:
		return resultsOf(v), true
	case v.Type != nil && v.Type.Size == 0 && v.Type.Name == "()":
		return nil, true
	}
	return []probe.Var{*v}, true
}

// takesNothing tells whether it is known of a function of which nothing is listed that there is nothing.
func (m *matcher) takesNothing(b *binary, entry uint64) bool {
	info, err := b.debug()
	if err != nil {
		return false
	}
	fn, err := info.FunctionAt(entry)
	return err == nil && fn.Entry == entry && fn.Lang != types.Assembler
}

// resultsOf are those of a function that may have several, which are put together.
func resultsOf(v *probe.Var) (list []probe.Var) {
	for i := range v.Type.Fields {
		f := &v.Type.Fields[i]
		one := probe.Var{Name: f.Name, Type: f.Type, Place: types.Place{Kind: types.InPieces}}
		if f.Type == nil || f.Type.Kind == types.Void { // types.Missing
			one.Place = types.Unknown("%s", f.Type)
			list = append(list, one)
			continue
		}
		at := 0
		for _, piece := range v.Place.Pieces {
			switch {
			case at < f.Offset || at >= f.Offset+f.Type.Size:
			case piece.Place.Kind == types.InPieces:
				one.Place.Pieces = append(one.Place.Pieces, piece.Place.Pieces...)
			default:
				one.Place.Pieces = append(one.Place.Pieces, piece)
			}
			at += piece.Size
		}
		if len(one.Place.Pieces) == 1 && one.Place.Pieces[0].Size == f.Type.Size {
			one.Place = one.Place.Pieces[0].Place
		}
		list = append(list, one)
	}
	return list
}
