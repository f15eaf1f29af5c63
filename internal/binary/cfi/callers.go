package cfi

import (
	"errors"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/section"
)

// Caller is how a walk up the stack gets from a frame to its caller's: a Row with no other registers than those a walk
// needs. Tables of large programs have a million of them.
type Caller struct {
	Range
	CallerRules
	Signal bool // a signal handler's frame: the registers are where the kernel put them
}

// CallerRules are what of a Caller changes within a function.
type CallerRules struct {
	CFA    CFARule
	Return RegRule // of the return address
	Frame  RegRule // of the frame pointer
}

// Callers calls yield, function by function in the order of addresses, until it returns false. What it is given is good
// for the call only. Rows of .debug_frame come only if there is no .eh_frame. What is damaged is left out.
func (f *Table) Callers(yield func(*Caller) bool) (err error) {
	defer objfile.Guard(&err)()
	if f.arch == nil || f.arch.FP < 0 {
		return errors.New("the CPU is not known whose stacks the call frame information describes")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open()
	s := &f.eh
	if s.data == nil {
		f.openDebug()
		s = &f.dbg
	}
	if !s.indexed {
		defer s.forget() // who wants all wants them once
	}
	s.buildIndex()
	m := callerMachine{frame: uint64(f.arch.FP), signs: f.arch.SignedReturns}
	for _, span := range s.index {
		e, err := s.fde(span.off)
		if err != nil { // a damaged function doesn't hide the others
			continue
		}
		if !m.run(&e, yield) {
			return nil
		}
	}
	return nil
}

// callerMachine runs the instructions of entries as machine does, for three rules instead of all: the state is small,
// so that saving it costs little, and it is what is given out, so that going on to the next row costs nothing.
type callerMachine struct {
	frame      uint64
	signs      bool // DW_CFA_AARCH64_negate_ra_state is known
	c          *cie
	loc, high  uint64
	rows       int
	st         Caller // the row being built
	initial    CallerRules
	remembered []CallerRules
	yield      func(*Caller) bool
}

// run yields the rows of an entry; false: yield wants no more.
func (m *callerMachine) run(e *fde, yield func(*Caller) bool) (more bool) {
	if m.c != e.cie { // the instructions common to several entries
		m.c, m.loc, m.high, m.yield, m.remembered = e.cie, 0, 0, nil, m.remembered[:0]
		m.st = Caller{CallerRules: CallerRules{CFA: CFARule{Reg: -1}}, Signal: e.cie.signal}
		m.initial = m.st.CallerRules
		if ok, _ := m.step(e.cie.initial); !ok {
			m.c = nil
			return true
		}
		m.initial = m.st.CallerRules
	}
	m.st.CallerRules, m.loc, m.high, m.rows, m.yield, m.remembered = m.initial, e.Low, e.High, 0, yield, m.remembered[:0]
	ok, more := m.step(e.ins)
	if !ok || !more { // what comes before the damage counts
		return more
	}
	return m.emit(e.High)
}

// emit gives the row that ends at an address.
func (m *callerMachine) emit(next uint64) (more bool) {
	end := min(next, m.high)
	if m.yield == nil || end <= m.loc || m.st.CFA.Expr == nil && m.st.CFA.Reg < 0 {
		return true
	}
	m.rows++
	m.st.Range = Range{m.loc, end}
	return m.yield(&m.st)
}

// rule is that of a register, nil if it is none of ours.
func (m *callerMachine) rule(reg uint64) *RegRule {
	switch reg {
	case uint64(m.c.ret):
		return &m.st.Return
	case m.frame:
		return &m.st.Frame
	}
	return nil
}

func (m *callerMachine) set(reg uint64, kind RuleKind, offset int64) {
	if r := m.rule(reg); r != nil {
		*r = RegRule{Reg: int(reg), Kind: kind, Offset: offset}
	}
}

func (m *callerMachine) restore(reg uint64) {
	switch reg {
	case uint64(m.c.ret):
		m.st.Return = m.initial.Return
	case m.frame:
		m.st.Frame = m.initial.Frame
	}
}

// step runs instructions. ok: nothing is wrong with them; more: yield has not had enough.
func (m *callerMachine) step(ins []byte) (ok, more bool) {
	r := section.Reader{Data: ins}
	align, code := m.c.dataAlign, m.c.codeAlign
	for r.Pos < len(r.Data) {
		op := r.U8()
		next := m.loc
		switch {
		case op&0xc0 == cfaAdvance:
			next += uint64(op&0x3f) * code
		case op&0xc0 == cfaOffset:
			m.set(uint64(op&0x3f), AtOffset, int64(r.ULEB())*align)
			continue
		case op&0xc0 == cfaRestore:
			m.restore(uint64(op & 0x3f))
			continue
		case op == cfaSetLoc:
			next = r.Uint(m.c.addrSize)
		case op == cfaAdvance1:
			next += uint64(r.U8()) * code
		case op == cfaAdvance2:
			next += uint64(r.U16()) * code
		case op == cfaAdvance4:
			next += uint64(r.U32()) * code
		default:
			if !m.change(op, &r) {
				return false, true
			}
			continue
		}
		if r.Bad || next < m.loc || m.rows >= maxRows {
			return false, true
		}
		if next != m.loc && !m.emit(next) {
			return true, false
		}
		m.loc = next
	}
	return !r.Bad, true
}

// change runs an instruction that changes the row; false: it is none, or not one that can be here.
func (m *callerMachine) change(op uint8, r *section.Reader) bool {
	st, align := &m.st.CallerRules, m.c.dataAlign
	switch op {
	case cfaNop:
	case cfaDefCFAOffset:
		st.CFA.Offset = int64(r.ULEB())
	case cfaDefCFA:
		st.CFA = CFARule{Reg: int(r.ULEB() & 0xffff), Offset: int64(r.ULEB())}
	case cfaDefCFARegister:
		st.CFA.Reg, st.CFA.Expr = int(r.ULEB()&0xffff), nil
	case cfaRememberState:
		if len(m.remembered) >= maxRemembered {
			return false
		}
		m.remembered = append(m.remembered, *st)
	case cfaRestoreState:
		n := len(m.remembered)
		if n == 0 {
			return false
		}
		*st = m.remembered[n-1]
		m.remembered = m.remembered[:n-1]
	case cfaOffsetExtended:
		m.set(r.ULEB(), AtOffset, int64(r.ULEB())*align)
	case cfaOffsetExtendedSF:
		m.set(r.ULEB(), AtOffset, r.SLEB()*align)
	case cfaGNUNegOffsetExtend:
		m.set(r.ULEB(), AtOffset, -int64(r.ULEB())*align)
	case cfaValOffset:
		m.set(r.ULEB(), ValueOffset, int64(r.ULEB())*align)
	case cfaValOffsetSF:
		m.set(r.ULEB(), ValueOffset, r.SLEB()*align)
	case cfaRestoreExtended:
		m.restore(r.ULEB())
	case cfaUndefined:
		m.set(r.ULEB(), Undefined, 0)
	case cfaSameValue:
		m.set(r.ULEB(), SameValue, 0)
	case cfaRegister:
		m.set(r.ULEB(), InOther, int64(r.ULEB()))
	case cfaExpression, cfaValExpression:
		reg := r.ULEB()
		expr := r.Bytes(r.ULEB())
		if rule := m.rule(reg); rule != nil {
			*rule = RegRule{Reg: int(reg), Kind: AtExpr, Expr: expr}
			if op == cfaValExpression {
				rule.Kind = ValueExpr
			}
		}
	case cfaDefCFASF:
		st.CFA = CFARule{Reg: int(r.ULEB() & 0xffff), Offset: r.SLEB() * align}
	case cfaDefCFAOffsetSF:
		st.CFA.Offset = r.SLEB() * align
	case cfaDefCFAExpression:
		st.CFA = CFARule{Reg: -1, Expr: r.Bytes(r.ULEB())}
	case cfaNegateRAState:
		return m.signs
	case cfaGNUArgsSize:
		r.ULEB()
	default:
		return false
	}
	return !r.Bad
}
