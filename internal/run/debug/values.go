package debug

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
)

// Text shows a value in one line.
func Text(v cpp.Value) string {
	switch v.Type {
	case cpp.Int:
		return strconv.Itoa(int(v.Int()))
	case cpp.Real:
		return strconv.FormatFloat(v.Real(), 'g', -1, 64)
	case cpp.String:
		return strconv.Quote(v.Str())
	case cpp.Block:
		return hexText(v.Bytes())
	}
	return "(no value)"
}

// shownBytes is how much of raw data is shown in one line.
const shownBytes = 16

func hexText(b []byte) string {
	more := ""
	if len(b) > shownBytes {
		more = " ..."
	}
	return fmt.Sprintf("%d bytes: % x%s", len(b), b[:min(len(b), shownBytes)], more)
}

// parseValue reads a value of a type.
func parseValue(text string, t cpp.Type) (cpp.Value, error) {
	text = strings.TrimSpace(text)
	switch t {
	case cpp.Int:
		n, err := strconv.ParseInt(text, 0, 32)
		if err != nil {
			return cpp.Value{}, fmt.Errorf("%s is not a 32-bit int", text)
		}
		return cpp.IntValue(int32(n)), nil
	case cpp.Real:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return cpp.Value{}, fmt.Errorf("%s is not a real", text)
		}
		return cpp.RealValue(f), nil
	case cpp.String:
		if s, err := strconv.Unquote(text); err == nil {
			text = s
		}
		if strings.ContainsRune(text, 0) {
			return cpp.Value{}, errors.New("a string cannot contain a NUL")
		}
		return cpp.NewString(text), nil
	case cpp.Block:
		return cpp.Value{}, errors.New("raw data cannot be changed; an int, a real or a string can")
	}
	return cpp.Value{}, errors.New("it has no value yet")
}

// goValue is a value for expressions; raw data is copied.
func goValue(v cpp.Value) any {
	switch v.Type {
	case cpp.Int:
		return int(v.Int())
	case cpp.Real:
		return v.Real()
	case cpp.String:
		return v.Str()
	case cpp.Block:
		return append([]byte(nil), v.Bytes()...)
	}
	return nil
}
