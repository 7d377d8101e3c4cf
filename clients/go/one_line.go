package happycity

import (
	"strings"
	"unicode"
)

// lineLength is how many characters a text in one line has at most, and how many of a reason the server keeps.
const lineLength = 200

// oneLine returns a text in one line of at most lineLength characters, without control characters.
func oneLine(text string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	characters := []rune(strings.Join(strings.Fields(printable), " "))
	return string(characters[:min(len(characters), lineLength)])
}
