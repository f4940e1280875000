// Programs as MLIR text, derived from arbitrary bytes by a grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace isthmus::fuzz {

// A module whose shape the bytes decide: chains and graphs of aliases of types, attributes and
// locations, splats of any claimed size, nested regions, calls among functions, collectives and
// custom calls, with types that mostly fit. Equal bytes give equal text, of at most about 300 kB.
std::string programText(const uint8_t* data, size_t size);

}  // namespace isthmus::fuzz
