package cfi

import (
	"errors"
	"fmt"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/section"
)

// Instructions of call frame programs (DWARF 5, 6.4.2 and 7.24; GNU and AArch64 additions).
const (
	cfaAdvance            = 0x40 // in the upper two bits
	cfaOffset             = 0x80
	cfaRestore            = 0xc0
	cfaNop                = 0x00
	cfaSetLoc             = 0x01
	cfaAdvance1           = 0x02
	cfaAdvance2           = 0x03
	cfaAdvance4           = 0x04
	cfaOffsetExtended     = 0x05
	cfaRestoreExtended    = 0x06
	cfaUndefined          = 0x07
	cfaSameValue          = 0x08
	cfaRegister           = 0x09
	cfaRememberState      = 0x0a
	cfaRestoreState       = 0x0b
	cfaDefCFA             = 0x0c
	cfaDefCFARegister     = 0x0d
	cfaDefCFAOffset       = 0x0e
	cfaDefCFAExpression   = 0x0f
	cfaExpression         = 0x10
	cfaOffsetExtendedSF   = 0x11
	cfaDefCFASF           = 0x12
	cfaDefCFAOffsetSF     = 0x13
	cfaValOffset          = 0x14
	cfaValOffsetSF        = 0x15
	cfaValExpression      = 0x16
	cfaNegateRAState      = 0x2d // AArch64; DW_CFA_GNU_window_save elsewhere
	cfaGNUArgsSize        = 0x2e
	cfaGNUNegOffsetExtend = 0x2f
)

const (
	maxFrameRegs  = 64 // rules of higher numbers (vector registers) are of no use here
	maxRemembered = 64
)

// frameState is the row being built.
type frameState struct {
	cfa    CFARule
	rules  [maxFrameRegs]RegRule
	signed bool
}

// machine runs the instructions of an entry. It can be used again.
type machine struct {
	c          *cie
	cpu        *abi.Arch
	loc        uint64
	st         frameState
	initial    frameState
	remembered []frameState
	out        Row
}

// start runs the instructions that are common to several entries.
func (m *machine) start(e *fde, cpu *abi.Arch) error {
	m.c, m.cpu, m.loc, m.remembered = e.cie, cpu, e.Low, m.remembered[:0]
	m.st.cfa, m.st.signed = CFARule{Reg: -1}, false
	for i := range m.st.rules {
		m.st.rules[i] = RegRule{Reg: i, Kind: architectural}
	}
	if _, err := m.step(e.cie.initial, nil); err != nil {
		return err
	}
	m.loc, m.initial = e.Low, m.st
	return nil
}

// at returns the row at pc.
func (m *machine) at(e *fde, cpu *abi.Arch, pc uint64) (row Row, found bool, err error) {
	if err := m.start(e, cpu); err != nil {
		return Row{}, false, err
	}
	high := e.High
	if _, err := m.step(e.ins, func(next uint64) bool {
		if next > pc {
			high = min(high, next)
		}
		return next <= pc
	}); err != nil {
		return Row{}, false, err
	}
	if m.st.cfa.Expr == nil && m.st.cfa.Reg < 0 {
		return Row{}, false, errors.New("call frame information without a frame address")
	}
	return *m.row(Range{m.loc, high}), true, nil
}

// each calls yield with each row until it returns false. The row is good for the call only.
func (m *machine) each(e *fde, cpu *abi.Arch, yield func(*Row) bool) error {
	if err := m.start(e, cpu); err != nil {
		return err
	}
	stopped, err := m.step(e.ins, func(next uint64) bool {
		end := min(next, e.High)
		return end <= m.loc || yield(m.row(Range{m.loc, end}))
	})
	if err == nil && !stopped && m.loc < e.High {
		yield(m.row(Range{m.loc, e.High}))
	}
	return err
}

// row makes a row in the machine's own memory.
func (m *machine) row(r Range) *Row {
	m.out = Row{
		Range: r, CFA: m.st.cfa, Return: m.c.ret, Signal: m.c.signal, SignedAddr: m.st.signed, Saved: m.out.Saved[:0],
	}
	for _, rule := range m.st.rules {
		if rule.Kind != architectural {
			m.out.Saved = append(m.out.Saved, rule)
		}
	}
	return &m.out
}

// step runs instructions. Before each move to a new address it calls advance with it, and stops if that is false; the
// row found so far then ends at that address.
func (m *machine) step(ins []byte, advance func(next uint64) bool) (stopped bool, err error) {
	r := section.Reader{Data: ins}
	set := func(reg uint64, rule RegRule) {
		if reg < maxFrameRegs {
			rule.Reg = int(reg)
			m.st.rules[reg] = rule
		}
	}
	restore := func(reg uint64) {
		if reg < maxFrameRegs {
			m.st.rules[reg] = m.initial.rules[reg]
		}
	}
	for r.Pos < len(r.Data) {
		op := r.U8()
		next, moves := m.loc, true
		switch op & 0xc0 {
		case cfaAdvance:
			next += uint64(op&0x3f) * m.c.codeAlign
		case cfaOffset:
			set(uint64(op&0x3f), RegRule{Kind: AtOffset, Offset: int64(r.ULEB()) * m.c.dataAlign})
			moves = false
		case cfaRestore:
			restore(uint64(op & 0x3f))
			moves = false
		default:
			switch op {
			case cfaSetLoc:
				next = r.Uint(m.c.addrSize)
			case cfaAdvance1:
				next += uint64(r.U8()) * m.c.codeAlign
			case cfaAdvance2:
				next += uint64(r.U16()) * m.c.codeAlign
			case cfaAdvance4:
				next += uint64(r.U32()) * m.c.codeAlign
			default:
				moves = false
				if err := m.rule(op, &r, set, restore); err != nil {
					return false, err
				}
			}
		}
		if r.Bad {
			return false, errShort
		}
		if moves {
			if next < m.loc {
				return false, errors.New("call frame information goes backwards")
			}
			if advance != nil && !advance(next) {
				return true, nil
			}
			m.loc = next
		}
	}
	return false, nil
}

// rule runs an instruction that changes the row.
func (m *machine) rule(op uint8, r *section.Reader, set func(uint64, RegRule), restore func(uint64)) error {
	st, align := &m.st, m.c.dataAlign
	switch op {
	case cfaNop:
	case cfaOffsetExtended:
		reg := r.ULEB()
		set(reg, RegRule{Kind: AtOffset, Offset: int64(r.ULEB()) * align})
	case cfaOffsetExtendedSF:
		reg := r.ULEB()
		set(reg, RegRule{Kind: AtOffset, Offset: r.SLEB() * align})
	case cfaGNUNegOffsetExtend:
		reg := r.ULEB()
		set(reg, RegRule{Kind: AtOffset, Offset: -int64(r.ULEB()) * align})
	case cfaValOffset:
		reg := r.ULEB()
		set(reg, RegRule{Kind: ValueOffset, Offset: int64(r.ULEB()) * align})
	case cfaValOffsetSF:
		reg := r.ULEB()
		set(reg, RegRule{Kind: ValueOffset, Offset: r.SLEB() * align})
	case cfaRestoreExtended:
		restore(r.ULEB())
	case cfaUndefined:
		set(r.ULEB(), RegRule{Kind: Undefined})
	case cfaSameValue:
		set(r.ULEB(), RegRule{Kind: SameValue})
	case cfaRegister:
		reg := r.ULEB()
		set(reg, RegRule{Kind: InOther, Offset: int64(r.ULEB())})
	case cfaExpression:
		reg := r.ULEB()
		set(reg, RegRule{Kind: AtExpr, Expr: r.Bytes(r.ULEB())})
	case cfaValExpression:
		reg := r.ULEB()
		set(reg, RegRule{Kind: ValueExpr, Expr: r.Bytes(r.ULEB())})
	case cfaRememberState:
		if len(m.remembered) >= maxRemembered {
			return errors.New("call frame information remembers too much")
		}
		m.remembered = append(m.remembered, *st)
	case cfaRestoreState:
		n := len(m.remembered)
		if n == 0 {
			return errors.New("call frame information restores what it has not remembered")
		}
		*st = m.remembered[n-1]
		m.remembered = m.remembered[:n-1]
	case cfaDefCFA:
		st.cfa = CFARule{Reg: int(r.ULEB() & 0xffff), Offset: int64(r.ULEB())}
	case cfaDefCFASF:
		st.cfa = CFARule{Reg: int(r.ULEB() & 0xffff), Offset: r.SLEB() * align}
	case cfaDefCFARegister:
		st.cfa.Reg, st.cfa.Expr = int(r.ULEB()&0xffff), nil
	case cfaDefCFAOffset:
		st.cfa.Offset = int64(r.ULEB())
	case cfaDefCFAOffsetSF:
		st.cfa.Offset = r.SLEB() * align
	case cfaDefCFAExpression:
		st.cfa = CFARule{Reg: -1, Expr: r.Bytes(r.ULEB())}
	case cfaNegateRAState:
		if m.cpu == nil || !m.cpu.SignedReturns {
			return errors.New("call frame information with register windows")
		}
		st.signed = !st.signed
	case cfaGNUArgsSize:
		r.ULEB()
	default:
		return fmt.Errorf("unknown call frame instruction %#x", op)
	}
	return nil
}
