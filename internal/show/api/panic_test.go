package api

import (
	"strings"
	"testing"
)

// What panics answers with an error of one line, and the server goes on.
func TestPanic(t *testing.T) {
	v, err := answerOf(&question{}, func(*question) (any, error) { panic("it broke") })
	if v != nil || err == nil || !strings.HasPrefix(err.Error(), "internal error: it broke") {
		t.Errorf("%v, %v", v, err)
	}
}
