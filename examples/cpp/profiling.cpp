// The one source file with the implementation of whyslow.hpp. Apart from the rest it is compiled but once.
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.hpp"
