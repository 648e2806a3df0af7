// Code fragments that emit events by hand.
#include "ucenv.h"
#define WHYSLOW_IMPLEMENTATION // does nothing here
#include "whyslow.hpp"
#include <unistd.h>

enum Colour { red, green };

extern "C" void emit(int i)
{
	EMIT_EVENT(Solver, onStep, i, i * 0.5, "step", std::string("s") + std::to_string(i), i % 2 == 0, green);
	EMIT_EVENT(Solver, onStep, "other types");
	EMIT_EVENT(CFEvents, onCreated, "CF created");
	EMIT_EVENT(Quiet, onNothing);
}

extern "C" void emit_wait(const char *file)
{
	for (int i = 0; i < 20000; i++) EMIT_EVENT(Solver, onMany, i, "text of 16 letters");
	EMIT_EVENT(Solver, onWait, file);
	while (access(file, F_OK)) usleep(100);
}

// A module takes a text.
extern "C" void emit_taken(int i)
{
	EMIT_EVENT(Solver, onTaken, i);
	EMIT_EVENT(Solver, onTaken, "text");
}
