// The neutral parts of an executable in the flat binary form of base/byte_stream.h.
#pragma once

#include "base/byte_stream.h"
#include "base/program/custom_call.h"
#include "base/program/program_steps.h"
#include "isthmus/backend.h"

namespace isthmus {

// Readers take hostile bytes: what makes no sense fails the reader.
void writeInfo(ByteWriter& out, const ProgramInfo& info);
ProgramInfo readInfo(ByteReader& in);
void writeCall(ByteWriter& out, const ffi::CallSpec& call);
ffi::CallSpec readCall(ByteReader& in);
void writeSteps(ByteWriter& out, const ProgramSteps& steps);
ProgramSteps readSteps(ByteReader& in);

}  // namespace isthmus
