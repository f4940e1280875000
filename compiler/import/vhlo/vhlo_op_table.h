// The operations of every released VHLO version: one row each.
#pragma once

#include <cstddef>
#include <iterator>

namespace isthmus::importer {

struct VhloOpRow {
  const char* name;        // "dot_general_v2"
  const char* attributes;  // see vhlo_op_table.cc
};

extern const VhloOpRow kVhloOps[];
extern const size_t kNumVhloOps;

}  // namespace isthmus::importer
