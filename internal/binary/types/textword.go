package types

// TextWord tells which registers point to texts, up to MostTexts: of each the number of the register with the address
// among those that are kept, counted from 1 on, and of that with the length, 0: it ends with a NUL.
type TextWord uint32

// TextBits is how many bits of a TextWord a text has, half of them for each register. MostTexts bounds the texts that
// are kept of one call.
const (
	TextBits     = 10
	TextRegister = 1<<(TextBits/2) - 1
	MostTexts    = 3
)

// Add adds a text: its registers, counted from 0 on; length below 0: there is none.
func (w *TextWord) Add(address, length int) {
	if address >= 0 && address < TextRegister && length < TextRegister && w.Count() < MostTexts {
		*w |= (TextWord(address+1) | TextWord(length+1)<<(TextBits/2)) << (TextBits * w.Count())
	}
}

// Count is how many texts there are.
func (w TextWord) Count() (n int) {
	for ; w&TextRegister != 0; w >>= TextBits {
		n++
	}
	return n
}

// Text is the number of the text whose address is in a register, -1: there is none.
func (w TextWord) Text(register int) int {
	for n := 0; w&TextRegister != 0; n, w = n+1, w>>TextBits {
		if int(w&TextRegister) == register+1 {
			return n
		}
	}
	return -1
}
