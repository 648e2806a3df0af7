// A second source file of hpp.cpp's program.
#include "whyslow.hpp"

#include <iostream>

struct Elsewhere : whyslow::IEventModule {
    void registerEvents() override {
        const std::string prefix = text("prefix", "elsewhere: ");
        CONNECT_EVENT(CFEvents, onCreated,
                      [prefix](const std::string &s) { std::cout << prefix << s << std::endl; });
    }
};
WHYSLOW_MODULE(Elsewhere, "elsewhere_module");

void busy(int us) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (std::chrono::steady_clock::now() < end) {
    }
}

void emit_elsewhere() { EMIT_EVENT(CFEvents, onCreated, std::string("CF created elsewhere")); }
