// Checks of programs and compile options.
#include "pjrt/compile/compile_request.h"

#include "pjrt/compile/compile_options.h"
#include "pjrt/entry.h"

namespace isthmus::pjrt {
namespace {

StatusOr<CompileOptions> parseOptions(std::string_view entry, const char* options, size_t size) {
  if (options == nullptr && size != 0) {
    return invalidArgument(entry, ": null compile options of ", size, " bytes");
  }
  StatusOr<CompileOptions> parsed =
      parseCompileOptions(size == 0 ? std::string_view() : std::string_view(options, size));
  // The text is what the official conformance tests compare with, hence no detail.
  if (!parsed.ok() && parsed.status().message().starts_with("malformed")) {
    return invalidArgument(entry, ": failed to deserialize CompileOptionsProto");
  }
  if (!parsed.ok()) return parsed.status().withContext(entry);
  return parsed;
}

}  // namespace

StatusOr<CompileRequest> parseCompileRequest(std::string_view entry, const PJRT_Program* program,
                                             const char* options, size_t optionsSize) {
  ISTHMUS_RETURN_IF_ERROR(checkSize(program).withContext(entry));
  ISTHMUS_REQUIRE(*program, code);
  ISTHMUS_REQUIRE(*program, format);
  CompileRequest request;
  request.code = {program->code, program->code_size};
  request.format = {program->format, program->format_size};
  ISTHMUS_ASSIGN_OR_RETURN(request.options, parseOptions(entry, options, optionsSize));
  if (request.format != "mlir" && request.format != "hlo" && request.format != "hlo_with_config") {
    return invalidArgument("Unknown program format '", request.format, "'.");
  }
  return request;
}

Status parseOptionalCompileOptions(std::string_view entry, const char* options, size_t optionsSize,
                                   std::optional<CompileOptions>& result) {
  if (options == nullptr || optionsSize == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(result, parseOptions(entry, options, optionsSize));
  return {};
}

}  // namespace isthmus::pjrt
