// A routine with the name of a function of the C library, which the program's own headers do not know.
extern "C" void four(void *out);
extern "C" void rand(void *out) { four(out); }
