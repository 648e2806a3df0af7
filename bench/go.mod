module github.com/whyslow/whyslow/bench

go 1.26.0

require (
	github.com/whyslow/whyslow v0.0.0
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba
)

require github.com/klauspost/compress v1.20.3 // indirect

replace github.com/whyslow/whyslow => ../
