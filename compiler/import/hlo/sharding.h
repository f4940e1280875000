// OpSharding messages as the text of mhlo.sharding attributes.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/bytecode/cursor.h"
#include "compiler/import/hlo/messages.h"

namespace isthmus::importer {

// What an array's sharding is called in text, "{devices=[2,1]<=[2]}"; empty if there is none.
// kInvalidArgument in the sink for types that do not exist.
bool shardingText(const hlo::Sharding& sharding, std::string& text, ErrorSink& sink);

// One text for each of the `numLeaves` leaves of a shape: a tuple's sharding has one for each, one
// that is no tuple holds for all. Empty texts if the message is not there.
bool leafShardings(const hlo::Sharding& sharding, size_t numLeaves, std::vector<std::string>& texts,
                   ErrorSink& sink);

}  // namespace isthmus::importer
