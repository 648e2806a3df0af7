// The one source file with the implementation of whyslow.hpp; kept apart, it is compiled only once.
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.hpp"
