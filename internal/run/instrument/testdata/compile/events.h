// EMIT_EVENT for a test: it counts each event, and checks that its arguments are usable at that place.
#pragma once
#include <cstdio>
#include <map>
#include <string>

inline std::map<std::string, int> &counts() {
    static std::map<std::string, int> all;
    return all;
}

inline void count(const char *name) { counts()[name]++; }
template <class... A> void count(const char *name, const char *function, const A &...) {
    counts()[name]++;
    counts()[std::string(name) + " " + function]++;
}

#define EMIT_EVENT(Namespace, onName, ...)                      \
    do {                                                        \
        static int site;                                        \
        site++;                                                 \
        count(#Namespace "::" #onName __VA_OPT__(, ) __VA_ARGS__); \
    } while (0)
