// Imports mutations of real programs: each must give an error or a valid module, never a crash.
//
// Usage: isthmus_import_fuzz_test [--runs=N] [--seed=S] [--only=I] FILE…
//
// Runs N mutations of each kind (truncated, flipped bits, overwritten, spliced, random, and mutated
// text, of each format), which are the same for the same seed and files. --only repeats one of
// them, by the number that --verbose prints before each. Build with a sanitizer to catch what does
// not crash by itself.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/import/import.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Verifier.h"

namespace isthmus {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t bound) { return bound == 0 ? 0 : random() % bound; }

std::string truncated(std::string code, const std::vector<std::string>&, Random& random) {
  code.resize(below(random, code.size()));
  return code;
}

std::string flipped(std::string code, const std::vector<std::string>&, Random& random) {
  for (size_t flips = 1 + below(random, 4); flips-- > 0 && !code.empty();) {
    code[below(random, code.size())] ^= 1 << below(random, 8);
  }
  return code;
}

// Some bytes become other values, preferably those at which encodings change.
std::string overwritten(std::string code, const std::vector<std::string>&, Random& random) {
  constexpr unsigned char kEdges[] = {0x00, 0x01, 0x02, 0x03, 0x7f, 0x80, 0xfe, 0xff};
  for (size_t writes = 1 + below(random, 6); writes-- > 0 && !code.empty();) {
    char& byte = code[below(random, code.size())];
    byte = random() % 2 ? kEdges[below(random, std::size(kEdges))] : random();
  }
  return code;
}

// A piece of one program replaces or extends a piece of another.
std::string spliced(std::string code, const std::vector<std::string>& corpus, Random& random) {
  const std::string& other = corpus[below(random, corpus.size())];
  const size_t from = below(random, other.size());
  const size_t length = 1 + below(random, std::min<size_t>(other.size() - from, 64));
  const size_t at = below(random, code.size());
  code.replace(at, random() % 2 ? length : 0, other, from, length);
  return code;
}

// Random bytes, half of them behind a header that is right.
std::string randomized(std::string code, const std::vector<std::string>&, Random& random) {
  const size_t header = random() % 2 ? std::min<size_t>(code.size(), 24) : 0;
  code.resize(header + below(random, 512));
  for (size_t i = header; i < code.size(); ++i) code[i] = random();
  return code;
}

// The text of a program with some pieces moved about.
std::string shuffledText(std::string text, const std::vector<std::string>& corpus, Random& random) {
  for (size_t edits = 1 + below(random, 3); edits-- > 0 && !text.empty();) {
    const size_t from = below(random, text.size());
    const std::string piece = text.substr(from, 1 + below(random, 24));
    switch (random() % 3) {
      case 0:
        text.erase(from, piece.size());
        break;
      case 1:
        text.insert(below(random, text.size()), piece);
        break;
      default:
        text[from] = "0123456789-x?<>[]{}()%@#\"abf"[below(random, 28)];
        break;
    }
  }
  return text;
}

enum class Kind { kBytecode, kHlo, kText };

struct Mutation {
  const char* name;
  std::string (*mutate)(std::string, const std::vector<std::string>&, Random&);
  Kind kind;
};

constexpr Mutation kMutations[] = {
    {"truncated", truncated, Kind::kBytecode},     {"flipped", flipped, Kind::kBytecode},
    {"overwritten", overwritten, Kind::kBytecode}, {"spliced", spliced, Kind::kBytecode},
    {"random", randomized, Kind::kBytecode},       {"text", shuffledText, Kind::kText},
    {"hlo flipped", flipped, Kind::kHlo},          {"hlo overwritten", overwritten, Kind::kHlo},
    {"hlo spliced", spliced, Kind::kHlo},
};

struct Options {
  size_t runs = 100;
  size_t seed = 1;
  size_t only = SIZE_MAX;
  bool isVerbose = false;
  std::vector<std::string> files;
};

bool parseOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--verbose") {
      options.isVerbose = true;
    } else if (argument.consume_front("--runs=")) {
      if (argument.getAsInteger(10, options.runs)) return false;
    } else if (argument.consume_front("--seed=")) {
      if (argument.getAsInteger(10, options.seed)) return false;
    } else if (argument.consume_front("--only=")) {
      if (argument.getAsInteger(10, options.only)) return false;
    } else {
      options.files.push_back(argument.str());
    }
  }
  return !options.files.empty();
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  return std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
}

// The binary programs by format, and all of them as text. False if one does not import.
bool loadCorpus(const Options& options, std::vector<std::string>& bytecode,
                std::vector<std::string>& protos, std::vector<std::string>& texts) {
  auto context = makeContext();
  for (const std::string& file : options.files) {
    std::ifstream stream(file, std::ios::binary);
    std::string code{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const bool isHlo = llvm::StringRef(file).ends_with(".hlo");
    auto module = importProgram(code, isHlo ? "hlo" : "mlir", *context);
    if (!module.ok()) {
      std::fprintf(stderr, "%s: %s\n", file.c_str(),
                   std::string(module.status().message()).c_str());
      return false;
    }
    std::string text;
    llvm::raw_string_ostream out(text);
    (*module)->print(out);
    (isHlo ? protos : bytecode).push_back(std::move(code));
    texts.push_back(std::move(text));
  }
  return true;
}

int run(const Options& options) {
  std::vector<std::string> bytecode, protos, texts;
  if (!loadCorpus(options, bytecode, protos, texts)) return 1;
  std::unique_ptr<mlir::MLIRContext> context;
  size_t number = 0;
  for (const Mutation& mutation : kMutations) {
    const bool isHlo = mutation.kind == Kind::kHlo;
    const std::vector<std::string>& corpus = isHlo                          ? protos
                                             : mutation.kind == Kind::kText ? texts
                                                                            : bytecode;
    if (corpus.empty()) continue;
    size_t numValid = 0;
    for (size_t run = 0; run < options.runs; ++run, ++number) {
      if (options.only != SIZE_MAX && options.only != number) continue;
      Random random(options.seed * 1'000'003 + number);
      // A context keeps every attribute it ever saw.
      if (!context || number % 256 == 0) context = makeContext();
      const std::string code =
          mutation.mutate(corpus[below(random, corpus.size())], corpus, random);
      if (options.isVerbose) std::fprintf(stderr, "%zu\n", number);
      auto module = importProgram(code, isHlo ? "hlo" : "mlir", *context);
      if (!module.ok()) {
        if (module.status().message().empty()) {
          std::fprintf(stderr, "run %zu: an error without a message\n", number);
          return 1;
        }
        continue;
      }
      ++numValid;
      if (mlir::failed(mlir::verify(**module))) {
        std::fprintf(stderr, "run %zu: the module is not valid\n", number);
        return 1;
      }
      std::string printed;
      llvm::raw_string_ostream out(printed);
      (*module)->print(out, mlir::OpPrintingFlags().enableDebugInfo());
    }
    std::printf("%-16s %zu runs, %zu of them valid\n", mutation.name, options.runs, numValid);
  }
  return 0;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  isthmus::Options options;
  if (!isthmus::parseOptions(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--runs=N] [--seed=S] [--only=I] [--verbose] FILE...\n",
                 argv[0]);
    return 2;
  }
  return isthmus::run(options);
}
