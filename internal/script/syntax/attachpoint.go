package syntax

import "strings"

// QuoteWord puts a part of an attach point, like a path or a function's name, in quotes where it needs them to stand for
// itself. Wildcards stay wildcards.
func QuoteWord(word string) string {
	plain := word != ""
	for _, c := range word {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_./-", c))
	}
	if plain && !(word[0] >= '0' && word[0] <= '9') {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
