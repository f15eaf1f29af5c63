package code

import "encoding/binary"

// What follows an opcode.
const (
	none  = 0
	m     = 1 << iota // ModRM byte with its memory operand
	i8                // immediate of 8 bits
	i16               // of 16 bits
	iz                // of 32 bits, 16 with the operand size prefix
	iv                // as iz, 64 with REX.W
	rel8              // jump distance of 8 bits
	rel32             // of 32 bits (16 with the prefix outside of 64-bit mode)
	moffs             // an address
	ptr               // a far address
	no64              // not valid in 64-bit mode
	bad               // not valid, or not for user programs' code
)

// oneByte tells what follows the opcodes of one byte (Intel SDM, volume 2, table A-2).
var oneByte = [256]uint16{
	0x00: m, m, m, m, i8, iz, no64, no64, m, m, m, m, i8, iz, no64, bad,
	0x10: m, m, m, m, i8, iz, no64, no64, m, m, m, m, i8, iz, no64, no64,
	0x20: m, m, m, m, i8, iz, bad, no64, m, m, m, m, i8, iz, bad, no64,
	0x30: m, m, m, m, i8, iz, bad, no64, m, m, m, m, i8, iz, bad, no64,
	0x40: none, none, none, none, none, none, none, none, none, none, none, none, none, none, none, none,
	0x50: none, none, none, none, none, none, none, none, none, none, none, none, none, none, none, none,
	0x60: no64, no64, m | no64, m, bad, bad, bad, bad, iz, m | iz, i8, m | i8, none, none, none, none,
	0x70: rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8, rel8,
	0x80: m | i8, m | iz, m | i8 | no64, m | i8, m, m, m, m, m, m, m, m, m, m, m, m,
	0x90: none, none, none, none, none, none, none, none, none, none, ptr | no64, none, none, none, none, none,
	0xa0: moffs, moffs, moffs, moffs, none, none, none, none, i8, iz, none, none, none, none, none, none,
	0xb0: i8, i8, i8, i8, i8, i8, i8, i8, iv, iv, iv, iv, iv, iv, iv, iv,
	0xc0: m | i8, m | i8, i16, none, m | no64, m | no64, m | i8, m | iz, i16 | i8, none, i16, none, none, i8, no64, none,
	0xd0: m, m, m, m, i8 | no64, i8 | no64, bad, none, m, m, m, m, m, m, m, m,
	0xe0: rel8, rel8, rel8, rel8, i8, i8, i8, i8, rel32, rel32, ptr | no64, rel8, none, none, none, none,
	0xf0: bad, none, bad, bad, none, none, m, m, none, none, none, none, none, none, m, m,
}

// twoByte is the same for opcodes behind 0x0f (table A-3).
var twoByte = [256]uint16{
	0x00: m, m, m, m, bad, none, none, none, none, none, bad, none, bad, m, none, m | i8,
	0x10: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0x20: bad, bad, bad, bad, bad, bad, bad, bad, m, m, m, m, m, m, m, m,
	0x30: none, none, none, none, none, none, bad, none, bad, bad, bad, bad, bad, bad, bad, bad,
	0x40: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0x50: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0x60: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0x70: m | i8, m | i8, m | i8, m | i8, m, m, m, none, m, m, bad, bad, m, m, m, m,
	0x80: rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32, rel32,
	0x90: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0xa0: none, none, none, m, m | i8, m, bad, bad, none, none, none, m, m | i8, m, m, m,
	0xb0: m, m, m, m, m, m, m, m, m, m, m | i8, m, m, m, m, m,
	0xc0: m, m, m | i8, m, m | i8, m | i8, m | i8, m, none, none, none, none, none, none, none, none,
	0xd0: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0xe0: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
	0xf0: m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m,
}

// x86 is an instruction being decoded.
type x86 struct {
	b                     []byte
	at                    int
	long                  bool // 64-bit mode
	opSize                bool // 0x66
	adSize                bool // 0x67
	rep                   byte // 0xf2, 0xf3
	seg                   bool // a segment prefix
	badPrefix             bool // lock, es, cs, ss, ds
	rex                   byte
	vector                bool // VEX, EVEX, XOP
	evexPrefix, xopPrefix bool
	pp                    uint8 // vector: the prefix that is part of the opcode: none, 66, f3, f2
	rexB                  uint8 // vector: the upper bits of the register or memory operand of ModRM
	opMap                 uint8
	op                    byte
	modrm                 byte
	hasMod                bool
	ripAt                 int // where the displacement of a RIP-relative operand stands, 0: none
	imm                   int64
	immLen                int
}

// MaxInstruction is the longest an instruction may be; the CPU refuses longer ones.
const MaxInstruction = 15

func decodeX86(b []byte, long bool) (in Inst, ok bool) {
	if len(b) > MaxInstruction {
		b = b[:MaxInstruction]
	}
	x := x86{b: b, long: long}
	what, ok := x.opcode()
	if !ok || what&bad != 0 || long && what&no64 != 0 {
		return in, false
	}
	if what&m != 0 && !x.operand() {
		return in, false
	}
	// Group 3 (0xf6, 0xf7) has an immediate for test only.
	if x.opMap == 0 && !x.vector && x.op|1 == 0xf7 && x.modrm>>3&7 < 2 {
		what |= i8
		if x.op == 0xf7 {
			what = what&^i8 | iz
		}
	}
	if !x.immediates(what) {
		return in, false
	}
	in.Len = x.at
	if x.ripAt > 0 {
		in.RIP = true
		in.Mem = int64(x.at) + int64(int32(binary.LittleEndian.Uint32(b[x.ripAt:])))
	}
	return x.classify(in)
}

func (x *x86) next() (byte, bool) {
	if x.at >= len(x.b) {
		return 0, false
	}
	x.at++
	return x.b[x.at-1], true
}

// opcode reads prefixes and opcode, and tells what follows.
func (x *x86) opcode() (what uint16, ok bool) {
	for {
		c, ok := x.next()
		if !ok {
			return 0, false
		}
		switch {
		case c == 0x66:
			x.opSize = true
		case c == 0x67:
			x.adSize = true
		case c == 0xf2, c == 0xf3:
			x.rep = c
		case c == 0xf0:
			x.badPrefix = true
		case c == 0x26, c == 0x2e, c == 0x36, c == 0x3e:
			x.seg, x.badPrefix = true, true
		case c == 0x64, c == 0x65:
			x.seg = true
		case x.long && c&0xf0 == 0x40:
			x.rex = c
			if c, ok = x.next(); !ok {
				return 0, false
			}
			// Only the opcode may follow; a prefix behind makes the CPU ignore the REX byte, which no compiler does.
			if c&0xf0 == 0x40 || c == 0x66 || c == 0x67 || c|1 == 0xf3 || c == 0xf0 {
				return 0, false
			}
			return x.afterPrefixes(c)
		default:
			return x.afterPrefixes(c)
		}
	}
}

func (x *x86) afterPrefixes(c byte) (what uint16, ok bool) {
	switch c {
	case 0x0f:
		if c, ok = x.next(); !ok {
			return 0, false
		}
		switch c {
		case 0x38, 0x3a:
			x.opMap, what = 2, m
			if c == 0x3a {
				x.opMap, what = 3, m|i8
			}
			x.op, ok = x.next()
			return what, ok
		}
		x.opMap, x.op = 1, c
		// extrq and insertq of SSE4a have two bytes of immediate.
		if c == 0x78 && (x.opSize || x.rep == 0xf2) {
			return m | i16, true
		}
		return twoByte[c], true
	case 0xc4, 0xc5:
		if x.long || x.at < len(x.b) && x.b[x.at]>>6 == 3 {
			return x.vex(c)
		}
	case 0x62:
		if x.long || x.at < len(x.b) && x.b[x.at]>>6 == 3 {
			return x.evex()
		}
	case 0x8f:
		if x.at < len(x.b) && x.b[x.at]&0x1f >= 8 {
			return x.xop()
		}
	}
	x.op = c
	return oneByte[c], true
}

func (x *x86) vex(c byte) (what uint16, ok bool) {
	x.vector = true
	p, ok := x.next()
	if !ok {
		return 0, false
	}
	x.opMap, x.pp = 1, p&3
	if c == 0xc4 {
		x.opMap, x.rexB = p&0x1f, ^p>>5&1
		if p, ok = x.next(); !ok {
			return 0, false
		}
		x.pp = p & 3
	}
	if x.op, ok = x.next(); !ok {
		return 0, false
	}
	return vectorOperands(x.opMap, x.op)
}

// vectorOperands tells what follows an opcode of VEX and EVEX. Their map 1 has the immediates of 0x0f's.
func vectorOperands(opMap uint8, op byte) (uint16, bool) {
	switch opMap {
	case 1:
		switch op {
		case 0x77: // vzeroupper
			return none, true
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			return m | i8, true
		}
		return m, true
	case 2, 5, 6:
		return m, true
	case 3:
		return m | i8, true
	case 7:
		return m | iz, true
	}
	return 0, false
}

func (x *x86) evex() (what uint16, ok bool) {
	x.vector, x.evexPrefix = true, true
	if x.at+4 > len(x.b) {
		return 0, false
	}
	p := x.b[x.at : x.at+4]
	// A bit that is always one in EVEX; zero is for future extensions (APX).
	if p[0]&8 != 0 || p[1]&4 == 0 {
		return 0, false
	}
	x.opMap, x.op = p[0]&7, p[3]
	x.pp, x.rexB = p[1]&3, ^p[0]>>5&1|^p[0]>>6&1<<1
	x.at += 4
	if x.opMap == 4 || x.opMap == 7 {
		return 0, false
	}
	return vectorOperands(x.opMap, x.op)
}

func (x *x86) xop() (what uint16, ok bool) {
	x.vector, x.xopPrefix = true, true
	if x.at+3 > len(x.b) {
		return 0, false
	}
	x.opMap, x.op = x.b[x.at]&0x1f, x.b[x.at+2]
	x.at += 3
	switch x.opMap {
	case 8:
		return m | i8, true
	case 9:
		return m, true
	case 10:
		return m | iz, true
	}
	return 0, false
}

// operand reads the ModRM byte and the displacement of its memory operand.
func (x *x86) operand() bool {
	var ok bool
	if x.modrm, ok = x.next(); !ok {
		return false
	}
	x.hasMod = true
	mod, rm := x.modrm>>6, x.modrm&7
	if mod == 3 {
		return true
	}
	disp := 0
	switch mod {
	case 1:
		disp = 1
	case 2:
		disp = 4
	}
	switch {
	case !x.long && x.adSize: // 16-bit addressing
		if mod == 2 || mod == 0 && rm == 6 {
			disp = 2
		}
	case rm == 4:
		sib, ok := x.next()
		if !ok {
			return false
		}
		if mod == 0 && sib&7 == 5 {
			disp = 4
		}
	case mod == 0 && rm == 5:
		disp = 4
		if x.long {
			x.ripAt = x.at
		}
	}
	x.at += disp
	return x.at <= len(x.b)
}

func (x *x86) immediates(what uint16) bool {
	word := 4
	if x.opSize && x.rex&8 == 0 {
		word = 2
	}
	n := 0
	switch {
	case what&iz != 0:
		n = word
	case what&iv != 0:
		n = word
		if x.rex&8 != 0 {
			n = 8
		}
	case what&rel8 != 0:
		n = 1
	case what&rel32 != 0:
		n = 4
		if x.opSize && !x.long {
			n = 2
		}
	case what&moffs != 0:
		n = 4
		if x.long != x.adSize && x.long {
			n = 8
		}
		if !x.long && x.adSize {
			n = 2
		}
	case what&ptr != 0:
		n = word + 2
	}
	if what&i16 != 0 {
		n += 2
	}
	if what&i8 != 0 {
		n++
	}
	if x.at+n > len(x.b) {
		return false
	}
	d := x.b[x.at : x.at+n]
	switch n {
	case 1:
		x.imm = int64(int8(d[0]))
	case 2:
		x.imm = int64(int16(binary.LittleEndian.Uint16(d)))
	case 4:
		x.imm = int64(int32(binary.LittleEndian.Uint32(d)))
	case 8:
		x.imm = int64(binary.LittleEndian.Uint64(d))
	}
	x.immLen = n
	x.at += n
	return true
}

// classify gives the instruction its meaning.
func (x *x86) classify(in Inst) (Inst, bool) {
	in.Hazard = x.hazard()
	if x.vector {
		in.quiet, in.vectors = x.quietVector(), x.vectorsOnly()
		return in, true
	}
	reg, direct := x.modrm>>3&7, x.modrm>>6 == 3
	switch x.opMap {
	case 0:
		switch op := x.op; {
		case op == 0xc3 || op == 0xc2:
			in.Op = Ret
		case op == 0xe9 || op == 0xeb:
			in.Op, in.Direct, in.emulated = Jump, true, !x.opSize
		case op == 0xe8:
			in.Op, in.Direct, in.emulated = Call, true, !x.opSize
		case op >= 0x70 && op <= 0x7f:
			in.Op, in.emulated = CondJump, !x.opSize
		case op >= 0xe0 && op <= 0xe3: // loop, jrcxz
			in.Op = CondJump
		case op == 0xff && reg == 2, op == 0xff && reg == 3:
			in.Op = Call
		case op == 0xff && reg == 4, op == 0xff && reg == 5:
			in.Op = Jump
		case op == 0xff && reg == 7, op == 0xfe && reg > 1, op == 0x8f && reg != 0:
			return in, false
		case op == 0x90 && x.rex&1 == 0: // also pause, which the kernel takes for a nop
			in.Op, in.emulated, in.quiet = Nop, x.rep == 0, true
		case op >= 0x50 && op <= 0x57:
			// push_setup_insn() in arch/x86/kernel/uprobes.c
			in.Op, in.emulated = Push, x.at == 1 || x.at == 2 && x.rex == 0x41
		case op == 0x8d && !direct:
			in.Op = Lea
		case op == 0x8b && !direct && !x.seg:
			in.Op = Load
		case op >= 0xb8 && op <= 0xbf, op == 0xc7 && reg == 0 && direct:
			in.Op, in.Imm = MoveImm, x.imm
			if op != 0xc7 && x.rex&8 == 0 {
				in.Imm = int64(uint32(x.imm))
			}
		case op == 0xcc, op == 0xf4, op == 0xf1:
			in.Op = Trap
		}
	case 1:
		switch op := x.op; {
		case op >= 0x80 && op <= 0x8f:
			in.Op, in.emulated = CondJump, !x.opSize
		case op == 0x1e && x.rep == 0xf3 && x.modrm|1 == 0xfb: // endbr64, endbr32
			in.Op, in.quiet = Landing, true
		case op == 0x1f && reg == 0:
			in.Op, in.quiet = Nop, true
		case op == 0x0b:
			in.Op = Trap
		}
	}
	if in.Direct || in.Op == CondJump {
		in.Target = int64(x.at) + x.imm
	}
	in.quiet = in.quiet || x.quiet()
	in.emulated = in.emulated && in.Hazard == Sound
	return in, true
}

// quiet tells whether the instruction only changes flags or a register that carries nothing into a C function: rax
// (number of vector registers aside), r10, r11. Nothing that touches memory counts, since it may fault, and the probe
// would come too late to see the call.
func (x *x86) quiet() bool {
	reg, rm := x.modrm>>3&7|x.rex&4<<1, x.modrm&7|x.rex&1<<3
	regs := x.hasMod && x.modrm>>6 == 3
	scratch := func(r byte) bool { return r == 0 || r == 10 || r == 11 }
	if x.rep != 0 || x.seg && x.opMap != 0 {
		return false
	}
	if x.opMap == 1 {
		switch x.op {
		case 0xb6, 0xb7, 0xbe, 0xbf: // movzx, movsx
			return regs && scratch(reg)
		}
		return false
	}
	if x.opMap != 0 {
		return false
	}
	switch op := x.op; op {
	case 0x38, 0x39, 0x3a, 0x3b, 0x84, 0x85: // cmp, test
		return regs
	case 0x3c, 0x3d, 0xa8, 0xa9:
		return true
	case 0x80, 0x81, 0x83: // cmp with immediate
		return regs && x.modrm>>3&7 == 7
	case 0xf6, 0xf7: // test with immediate
		return regs && x.modrm>>3&7 < 2
	case 0x89, 0x31, 0x29, 0x01, 0x21, 0x09: // mov, xor, sub, add, and, or: to r/m
		return regs && scratch(rm) && (x.long || rm == 0)
	case 0x8b, 0x33, 0x2b, 0x03, 0x23, 0x0b, 0x63: // the same to reg, movsxd
		return regs && scratch(reg) && x.long
	case 0x8d: // lea
		return scratch(reg) && x.long
	case 0xc7:
		return regs && scratch(rm) && x.long
	}
	if x.op >= 0xb8 && x.op <= 0xbf {
		return scratch(x.op&7|x.rex&1<<3) && x.long
	}
	return false
}
