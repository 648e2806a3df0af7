package main

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const in = `{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"good\n"}
{"Action":"output","Package":"a","Test":"TestBad/one","Output":"bad one\n"}
{"Action":"output","Package":"b","Test":"TestOther","Output":"other\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":3}
{"Action":"fail","Package":"a","Test":"TestBad/one","Elapsed":2}
{"Action":"output","Package":"a","Test":"TestBad","Output":"--- FAIL: TestBad\n"}
{"Action":"fail","Package":"a","Test":"TestBad","Elapsed":2.5}
{"Action":"output","Package":"a","Test":"TestDied","Output":"panic\n"}
{"Action":"output","Package":"a","Output":"FAIL a\n"}
{"Action":"fail","Package":"a","Elapsed":6}
{"Action":"skip","Package":"b","Test":"TestOther","Elapsed":0.5}
{"Action":"output","Package":"b","Output":"ok b\n"}
{"Action":"pass","Package":"b","Elapsed":1}
{"ImportPath":"c","Action":"build-output","Output":"does not build\n"}
not JSON
`
	var out strings.Builder
	s := &summary{out: &out}
	n, own, err := s.read(strings.NewReader(in))
	if err != nil || n != 2 || own != s.counts {
		t.Errorf("%d packages, %v, %v", n, own, err)
	}
	s.close()
	want := `bad one
--- FAIL: TestBad
panic
FAIL a
does not build
not JSON
The slowest tests:
     3.0 s  a TestGood
     2.0 s  a TestBad/one
     0.5 s  b TestOther
1 passed, 2 failed, 1 skipped
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
