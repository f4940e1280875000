#include "compiler/driver/reproducer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "compiler/dialect/dialect.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "isthmus/flags.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {
namespace {

constexpr size_t kMaxTextBytes = 32 << 20;
constexpr int64_t kMaxKeptElements = 1024;  // of a constant of a larger program
constexpr int kMaxFiles = 8;                // of a process: one that retries must not fill the disk
constexpr llvm::StringLiteral kTitle = "// Isthmus reproducer";
constexpr llvm::StringLiteral kOptions = "// CompileOptionsProto: ";
constexpr llvm::StringLiteral kFlag = "// ISTHMUS_";

// Where files go, what is logged and what is secret is nobody else's.
bool isReplayed(std::string_view flag) {
  return flag.starts_with("ISTHMUS_") && flag != "ISTHMUS_DUMP" && flag != "ISTHMUS_LOG" &&
         flag != "ISTHMUS_CACHE_KEY_FILE" && flag != "ISTHMUS_NUM_DEVICES";
}

std::string headOf(const CompileRequest& request, std::string_view platform, const Status& error) {
  std::string head = kTitle.str() + ", to be replayed by:\n";
  head += "//   " + replayCommand("FILE", platform) + "\n";
  llvm::SmallVector<llvm::StringRef> lines;
  const std::string message = error.messageWithPlace();
  llvm::StringRef(message).split(lines, '\n');
  for (llvm::StringRef line : lines) head += "// " + line.str() + "\n";
  const int devices = request.options.numReplicas * request.options.numPartitions;
  head += "// ISTHMUS_NUM_DEVICES=" + std::to_string(std::max(devices, 1)) + "\n";
  for (const FlagInfo& flag : allFlags()) {
    if (!flagIsSet(flag.name) || !isReplayed(flag.name)) continue;
    head += "// " + std::string(flag.name) + "=" + flagString(flag.name) + "\n";
  }
  return head + kOptions.str() + llvm::encodeBase64(request.options.serialized) + "\n";
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, mlir::OpPrintingFlags().enableDebugInfo());
  out << "\n";
  return text;
}

void zeroLargeConstants(mlir::ModuleOp module) {
  module.walk([](shlo::ConstantOp constant) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(constant.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() <= kMaxKeptElements) return;
    mlir::Builder builder(constant.getContext());
    mlir::Type element = type.getElementType();
    mlir::Attribute zero = builder.getZeroAttr(element);
    if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element)) {
      mlir::Attribute part = builder.getZeroAttr(complex.getElementType());
      zero = part ? builder.getArrayAttr({part, part}) : nullptr;
    }
    if (zero) constant.setValueAttr(mlir::DenseElementsAttr::get(type, zero));
  });
}

// The name of a new file with `content`; empty if it cannot be written.
std::string writeTemporary(std::string_view content) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return {};
  std::string name = folder / "isthmus-reproducer-XXXXXX.mlir";
  // New, and nobody else's to read: programs may have secrets in their constants.
  int file = mkostemps(name.data(), /*suffixlen=*/5, O_CLOEXEC);
  if (file < 0) return {};
  bool isWritten = true;
  while (isWritten && !content.empty()) {
    ssize_t count = write(file, content.data(), content.size());
    isWritten = count > 0;
    if (isWritten) content.remove_prefix(static_cast<size_t>(count));
  }
  isWritten &= close(file) == 0;
  if (isWritten) return name;
  unlink(name.c_str());
  return {};
}

}  // namespace

std::string replayCommand(std::string_view file, std::string_view platform) {
  if (platform.empty()) return "isthmus-opt " + std::string(file) + " --to load";
  std::string command = "python -m isthmus replay " + std::string(file);
  return platform == "isthmus" ? command : command + " --platform " + std::string(platform);
}

StatusOr<ReproducerHead> readReproducerHead(std::string_view text) {
  ReproducerHead head;
  llvm::StringRef rest(text.data(), text.size());
  if (!rest.starts_with(kTitle)) return head;
  while (rest.starts_with("//")) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    llvm::StringRef content = line;
    if (content.consume_front(kOptions)) {
      std::vector<char> bytes;
      if (llvm::Error error = llvm::decodeBase64(content.trim(), bytes)) {
        return invalidArgument("the reproducer's options: ", llvm::toString(std::move(error)));
      }
      head.serializedOptions.assign(bytes.begin(), bytes.end());
    } else if (line.starts_with(kFlag)) {
      auto [name, value] = line.drop_front(3).split('=');
      auto isKnown = [&](const FlagInfo& flag) { return flag.name == std::string_view(name); };
      // Lines of the error may begin so too.
      if (llvm::any_of(allFlags(), isKnown)) head.flags.emplace_back(name.str(), value.str());
    }
  }
  return head;
}

StatusOr<std::string> reproducerText(const CompileRequest& request, std::string_view platform,
                                     const Status& error) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importProgram(request.code, request.format, *context));
  std::string head = headOf(request, platform, error);
  std::string text = textOf(*module);
  if (text.size() > kMaxTextBytes) {
    zeroLargeConstants(*module);
    text = textOf(*module);
    head += "// Constants of more than " + std::to_string(kMaxKeptElements) + " are zeros here.\n";
  }
  return head + text;
}

Status withReproducer(const CompileRequest& request, std::string_view platform,
                      const Status& error) {
  static std::atomic<int> files{0};
  const std::string message = error.messageWithPlace();
  if (files.fetch_add(1) >= kMaxFiles) {
    files = kMaxFiles;
    return Status(error.code(), message + "; see the reproducers of earlier failures");
  }
  StatusOr<std::string> text = reproducerText(request, platform, error);
  std::string_view content = text.ok() ? std::string_view(*text) : request.code;
  if (content.size() > 2 * kMaxTextBytes) {
    return Status(error.code(), message + "; the program is too large for a reproducer");
  }
  std::string file = writeTemporary(content);
  if (file.empty()) {
    return Status(error.code(),
                  message + "; a reproducer could not be written to a temporary file");
  }
  return Status(error.code(), message + "; to see it again: " + replayCommand(file, platform));
}

}  // namespace isthmus
