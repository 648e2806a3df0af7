//go:build !amd64

// Lets the package declare nanotime, whose body is in the runtime.
