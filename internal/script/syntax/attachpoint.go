package syntax

import "strings"

// QuoteExact puts the name of one function in the form in which attach points have it: a star in it is its own, no
// pattern's. Those of receivers in Go, (*T), need no word for that.
func QuoteExact(name string) string {
	for i := range len(name) {
		receiver := i > 0 && name[i-1] == '(' && i+1 < len(name) && (name[i+1] == '_' || name[i+1] >= 'A')
		if name[i] == '*' && !receiver {
			return "exact:" + QuoteWord(name)
		}
	}
	return QuoteWord(name)
}

// QuoteWord puts a part of an attach point, like a path or a function's name, in quotes where it needs them to stand
// for itself. Wildcards stay wildcards.
func QuoteWord(word string) string {
	plain := word != ""
	for _, c := range word {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("_./-", c))
	}
	if plain && !(word[0] >= '0' && word[0] <= '9') {
		return word
	}
	return QuoteText(word)
}

// QuoteText puts a part of an attach point in quotes. What cannot be seen is escaped as in a string.
func QuoteText(word string) string { return quote(word) }

// Unescape reads what begins with a backslash in the quotes of an attach point: the byte that it stands for, and its
// length. The escapes are those that QuoteText writes; a backslash before any other character is left out, as in
// bpftrace.
func Unescape(text string) (c byte, length int) {
	if len(text) < 2 {
		return '\\', 1
	}
	switch c = text[1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'x':
		if len(text) >= 4 && digitValue(text[2]) < 16 && digitValue(text[3]) < 16 {
			return byte(digitValue(text[2])<<4 | digitValue(text[3])), 4
		}
	}
	return c, 2
}
