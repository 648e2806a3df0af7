package sdk

import _ "embed"

// ModuleHeader is the text of whyslow_module.h, the interface of modules in shared libraries.
//
//go:embed whyslow_module.h
var ModuleHeader string

// ModuleHeaderCPP is the text of whyslow_module.hpp, its C++ layer.
//
//go:embed whyslow_module.hpp
var ModuleHeaderCPP string
