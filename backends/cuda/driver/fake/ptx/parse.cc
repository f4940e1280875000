// From tokens to a program: names are resolved, instructions decoded.
#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/program.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"
#include "backends/cuda/driver/fake/ptx/tokens.h"

namespace isthmus::ptx {
namespace {

constexpr std::pair<std::string_view, Slot> kSpecials[] = {
    {"%tid.x", kTidX},
    {"%tid.y", kTidY},
    {"%tid.z", kTidZ},
    {"%ntid.x", kNtidX},
    {"%ntid.y", kNtidY},
    {"%ntid.z", kNtidZ},
    {"%ctaid.x", kCtaidX},
    {"%ctaid.y", kCtaidY},
    {"%ctaid.z", kCtaidZ},
    {"%nctaid.x", kNctaidX},
    {"%nctaid.y", kNctaidY},
    {"%nctaid.z", kNctaidZ},
    {"%laneid", kLaneId},
    {"%warpid", kWarpId},
    {"%nwarpid", kNumWarps},
    {"%lanemask_eq", kLaneMaskEq},
    {"%lanemask_le", kLaneMaskLe},
    {"%lanemask_lt", kLaneMaskLt},
    {"%lanemask_ge", kLaneMaskGe},
    {"%lanemask_gt", kLaneMaskGt},
    {"_", kSink},
};

// What a name stands for.
struct Name {
  enum class Kind { kRegister, kVariable, kSharedVariable } kind = Kind::kRegister;
  Slot slot = kNoSlot;
  Space space = Space::kGeneric;
  uint64_t address = 0;
  size_t bytes = 0, alignment = 1;
};

// A .param of a function, or a variable: what its declaration says.
struct Declared {
  std::string_view name;
  Type type = Type::kNone;
  size_t bytes = 0, alignment = 1;
  int range = 0;  // of registers: name<range>
};

struct Function {
  int begin = -1;
  std::vector<Name> results, parameters;
};

// Calls are resolved when all functions are known.
struct OpenCall {
  size_t site;
  std::string_view callee;
  std::vector<Name> arguments, results;
  int line;
};

void trap(Context& c, const Instruction& i, uint32_t lanes) {
  c.fail(Fault::Code::kTrap, i, std::countr_zero(lanes), "was reached");
}
void nothing(Context&, const Instruction&, uint32_t) {}

size_t alignUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

class Parser {
 public:
  Parser(Program& program, std::vector<Token> tokens)
      : program_(program), tokens_(std::move(tokens)) {
    scopes_.emplace_back();
    for (const auto& [name, slot] : kSpecials) {
      Name one;
      one.slot = slot;
      scopes_.back()[name] = one;
    }
    program_.numSlots = functionSlots_ = kNumSpecialRegisters;
  }

  bool run(std::string& error) {
    if (!isNext(".version")) error_ = "Missing .version directive";
    while (ok() && peek().kind != Token::Kind::kEnd) parseTopLevel();
    if (ok()) resolveCalls();
    for (uint64_t value : constants_) {
      program_.constants.insert(program_.constants.end(), kWarpLanes, value);
    }
    error = error_;
    return ok();
  }

 private:
  // Tokens.
  bool ok() const { return error_.empty(); }
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool isNext(std::string_view text) const { return peek().text == text; }
  bool accept(std::string_view text) {
    if (!isNext(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail("expected '" + std::string(text) + "', got '" + std::string(peek().text) + "'");
  }
  void fail(const std::string& what) {
    if (ok()) error_ = "line " + std::to_string(peek().line) + ": " + what;
  }
  uint64_t number() {
    bool isNegative = accept("-");
    if (peek().kind != Token::Kind::kNumber) fail("expected a number");
    uint64_t bits = next().bits;
    return isNegative ? 0 - bits : bits;
  }

  // The module.
  void parseTopLevel() {
    std::string_view word = peek().text;
    if (accept(".version") || accept(".target") || accept(".address_size")) {
      std::string said(next().text);
      while (accept(",")) next();
      if (word == ".version") program_.version = said;
      if (word == ".target") program_.target = said;
      if (word == ".address_size" && said != "64") fail("only addresses of 64 bits are known");
    } else if (accept(".visible") || accept(".weak") || accept(".extern") || accept(".file")) {
      // Which other modules see it, and where it came from.
      if (word == ".file") {
        number();
        next();
      }
    } else if (accept(".entry")) {
      parseFunction(true);
    } else if (accept(".func")) {
      parseFunction(false);
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      parseVariable();
    } else {
      fail("unknown directive " + std::string(word));
    }
  }

  // .align 4 .b8 name[12], after the state space; without what follows it.
  Declared parseDeclared() {
    Declared declared;
    size_t vector = 1;
    while (peek().kind == Token::Kind::kWord && peek().text.starts_with(".")) {
      std::string_view word = next().text;
      if (word == ".align") {
        declared.alignment = number();
      } else if (word == ".v2" || word == ".v4") {
        vector = static_cast<size_t>(word[2] - '0');
      } else if (word == ".ptr" || word == ".global" || word == ".const" || word == ".shared") {
        continue;  // what a parameter points to
      } else if (Type type = typeOf(word.substr(1)); type != Type::kNone) {
        declared.type = type;
      } else {
        fail("unknown " + std::string(word));
      }
      if (declared.alignment == 0 || (declared.alignment & (declared.alignment - 1))) {
        fail("alignments are powers of two");
      }
    }
    declared.name = next().text;
    auto size = static_cast<size_t>(bytesOf(declared.type));
    declared.bytes = size * vector;
    if (accept("<")) {
      declared.range = static_cast<int>(number());
      expect(">");
    }
    while (accept("[")) {
      declared.bytes *= isNext("]") ? 0 : number();
      expect("]");
    }
    return declared;
  }

  void parseVariable() {
    std::string_view space = next().text;
    Declared declared = parseDeclared();
    auto alignment = std::max(declared.alignment, static_cast<size_t>(bytesOf(declared.type)));
    if (space == ".shared") {
      expect(";");
      return addShared(declared, alignment);
    }
    Program::Global global;
    size_t room = alignUp(declared.bytes, 16) + alignment;
    global.data = std::make_unique<char[]>(room);
    global.bytes = declared.bytes;
    global.isConstant = space == ".const";
    auto address = alignUp(reinterpret_cast<uintptr_t>(global.data.get()), alignment);
    if (accept("="))
      parseInitializer(declared.type, reinterpret_cast<char*>(address), declared.bytes);
    expect(";");
    Name name;
    name.kind = Name::Kind::kVariable;
    name.space = Space::kGlobal;
    name.address = address;
    name.bytes = declared.bytes;
    scopes_.back()[declared.name] = name;
    program_.globals[address] = std::move(global);
  }

  void parseInitializer(Type type, char* data, size_t bytes) {
    auto size = static_cast<size_t>(bytesOf(type));
    bool isList = accept("{");
    for (size_t offset = 0; ok() && !isNext("}"); offset += size) {
      uint64_t value = number();
      if (offset + size > bytes) return fail("more values than the variable has");
      std::memcpy(data + offset, &value, size);
      if (!isList || !accept(",")) break;
    }
    if (isList) expect("}");
  }

  void addShared(const Declared& declared, size_t alignment) {
    Name name;
    name.kind = Name::Kind::kSharedVariable;
    name.space = Space::kShared;
    name.bytes = declared.bytes;
    name.alignment = alignment;
    // Its place is the kernel's that uses it; until then it has a number.
    name.address = numShared_++;
    if (declared.bytes == 0) fail("dynamic shared memory is not known");
    scopes_.back()[declared.name] = name;
  }

  // Functions.
  std::vector<Name> parseParameters(bool isEntry, Entry& entry) {
    std::vector<Name> result;
    expect("(");
    while (ok() && !isNext(")")) {
      expect(".param");
      Declared declared = parseDeclared();
      size_t alignment = std::max<size_t>(
          declared.type == Type::kB8 ? 1 : static_cast<size_t>(bytesOf(declared.type)),
          declared.bytes > static_cast<size_t>(bytesOf(declared.type)) ? declared.alignment : 1);
      Name name;
      if (isEntry) {
        entry.parameterBytes = alignUp(entry.parameterBytes, alignment);
        entry.parameters.push_back({entry.parameterBytes, declared.bytes});
        name.kind = Name::Kind::kVariable;
        name.space = Space::kKernelParameter;
        name.address = entry.parameterBytes;
        name.bytes = declared.bytes;
        entry.parameterBytes += declared.bytes;
      } else {
        name = makeLocal(declared);
      }
      scopes_.back()[declared.name] = name;
      result.push_back(name);
      if (!accept(",")) break;
    }
    expect(")");
    return result;
  }

  Name makeLocal(const Declared& declared) {
    Name name;
    name.kind = Name::Kind::kVariable;
    name.space = Space::kLocal;
    // Calls' values of less than a register may be read as a whole one.
    local_ = alignUp(local_, std::max<size_t>(declared.alignment, 8));
    name.address = local_;
    name.bytes = declared.bytes;
    local_ += alignUp(declared.bytes, 8);
    return name;
  }

  void parseFunction(bool isEntry) {
    Function function;
    Entry entry;
    scopes_.emplace_back();
    sharedPlaces_.clear();
    isEntry_ = isEntry;
    slots_ = isEntry ? functionSlots_ : program_.numSlots;
    local_ = isEntry ? functionLocal_ : program_.localBytes;
    if (!isEntry && isNext("(")) function.results = parseParameters(false, entry);
    std::string_view name = next().text;
    if (isNext("(")) function.parameters = parseParameters(isEntry, entry);
    parseBounds(entry);
    if (accept(";")) {
      scopes_.pop_back();
      return;  // only declared
    }
    entry.begin = function.begin = static_cast<int>(program_.code.size());
    sharedBytes_ = 0;
    labels_.clear();
    openLabels_.clear();
    expect("{");
    parseBody();
    Instruction end;
    end.kind = Kind::kReturn;
    end.text = "}";
    end.line = peek().line;
    program_.code.push_back(end);
    resolveLabels();
    scopes_.pop_back();
    program_.numSlots = std::max(program_.numSlots, slots_);
    program_.localBytes = std::max(program_.localBytes, alignUp(local_, 16));
    if (isEntry) {
      entry.name = name;
      entry.sharedBytes = sharedBytes_;
      program_.entries[entry.name] = entry;
    } else {
      functionSlots_ = program_.numSlots;
      functionLocal_ = program_.localBytes;
      functions_[name] = function;
    }
  }

  void parseBounds(Entry& entry) {
    while (ok() && peek().text.starts_with(".")) {
      std::string_view word = next().text;
      if (word == ".reqntid" || word == ".maxntid") {
        unsigned* threads = word == ".reqntid" ? entry.requiredThreads : entry.maxThreads;
        std::fill(threads, threads + 3, 1);
        int d = 0;
        do {
          threads[d++] = static_cast<unsigned>(number());
        } while (d < 3 && accept(","));
      } else if (word == ".minnctapersm" || word == ".maxnreg") {
        number();
      } else if (word != ".noreturn") {
        fail("unknown directive " + std::string(word));
      }
    }
  }

  // Until the brace that closes it.
  void parseBody() {
    while (ok() && !accept("}")) {
      if (peek().kind == Token::Kind::kEnd) return fail("a body has no end");
      parseStatement();
    }
  }

  void parseStatement() {
    if (accept(";")) return;
    if (accept("{")) {
      scopes_.emplace_back();
      parseBody();
      scopes_.pop_back();
      return;
    }
    std::string_view word = peek().text;
    if (peek(1).text == ":" && peek().kind == Token::Kind::kWord) return parseLabel();
    if (word == ".reg") return parseRegisters();
    if (word == ".local" || word == ".param") {
      next();
      Declared declared = parseDeclared();
      expect(";");
      scopes_.back()[declared.name] = makeLocal(declared);
      return;
    }
    if (word == ".shared" || word == ".global" || word == ".const") return parseVariable();
    if (word == ".loc" || word == ".pragma") {
      int line = peek().line;
      while (ok() && peek().line == line && peek().kind != Token::Kind::kEnd) next();
      return;
    }
    parseInstruction();
  }

  void parseLabel() {
    std::string_view name = next().text;
    next();
    if (accept(".branchtargets")) {
      auto table = static_cast<int>(program_.tables.size());
      program_.tables.emplace_back();
      do {
        openTargets_.push_back({table, next().text});
      } while (accept(","));
      expect(";");
      tables_[name] = table;
      return;
    }
    if (!labels_.emplace(name, static_cast<int>(program_.code.size())).second) {
      fail("label " + std::string(name) + " is there twice");
    }
  }

  void parseRegisters() {
    next();
    do {
      Declared declared = parseDeclared();
      if (declared.type == Type::kB128) return fail("registers of 128 bits are not known");
      Name name;
      if (declared.range == 0) {
        name.slot = slots_++;
        scopes_.back()[declared.name] = name;
      }
      for (int n = 0; n < declared.range; ++n) {
        auto& text = names_.emplace_back(
            std::make_unique<std::string>(std::string(declared.name) + std::to_string(n)));
        name.slot = slots_++;
        scopes_.back()[*text] = name;
      }
    } while (ok() && accept(","));
    expect(";");
  }

  // Operands.
  const Name* find(std::string_view text) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (auto it = scope->find(text); it != scope->end()) return &it->second;
    }
    return nullptr;
  }

  Slot constant(uint64_t value) {
    auto [it, isNew] = constantNumbers_.emplace(value, static_cast<Slot>(constants_.size()));
    if (isNew) constants_.push_back(value);
    return ~it->second;
  }

  uint64_t addressOf(const Name& name) {
    if (name.kind != Name::Kind::kSharedVariable) return name.address;
    if (!isEntry_) fail("shared memory of a function that is no kernel is not known");
    auto [it, isNew] = sharedPlaces_.emplace(name.address, 0);
    if (isNew) {
      it->second = alignUp(sharedBytes_, name.alignment);
      sharedBytes_ = it->second + name.bytes;
    }
    return it->second;
  }

  // A register, a number, or the address of a variable.
  Operand parseValue() {
    Operand operand;
    operand.isNegated = accept("!");
    if (peek().kind == Token::Kind::kNumber || isNext("-")) {
      operand.isConstant = true;
      operand.constant = number();
      operand.slot = constant(operand.constant);
      return operand;
    }
    std::string_view text = next().text;
    const Name* name = find(text);
    if (!name) {
      operand.kind = Operand::Kind::kName;
      operand.name = text;
      return operand;
    }
    if (name->kind == Name::Kind::kRegister) {
      operand.slot = name->slot;
    } else {
      operand.slot = constant(addressOf(*name));
      operand.hasSpace = true;
      operand.space = name->space;
    }
    if (accept("+")) operand.offset = static_cast<int64_t>(number());
    return operand;
  }

  Operand parseOperand() {
    if (accept("[")) {
      Operand operand = parseValue();
      if (operand.kind == Operand::Kind::kName) fail("unknown name " + std::string(operand.name));
      operand.kind = Operand::Kind::kAddress;
      expect("]");
      return operand;
    }
    if (accept("{")) {
      Operand operand;
      operand.kind = Operand::Kind::kVector;
      do {
        Operand element = parseValue();
        if (element.kind == Operand::Kind::kName) fail("unknown name " + std::string(element.name));
        operand.elements.push_back(element.slot);
      } while (ok() && accept(","));
      expect("}");
      return operand;
    }
    Operand operand = parseValue();
    if (accept("|")) operand.alternative = parseValue().slot;
    return operand;
  }

  // Instructions.
  void parseInstruction() {
    Instruction i;
    i.line = peek().line;
    const char* begin = peek().text.data();
    if (accept("@")) {
      i.isGuardNegated = accept("!");
      const Name* guard = find(next().text);
      if (!guard || guard->kind != Name::Kind::kRegister) return fail("unknown guard");
      i.guard = guard->slot;
    }
    if (peek().kind != Token::Kind::kWord) return fail("expected an instruction");
    std::string_view opcode = next().text;
    bool isCall = opcode == "call" || opcode.starts_with("call.");
    if (isCall) return parseCall(i, begin);
    std::vector<Operand> operands;
    while (ok() && !isNext(";")) {
      operands.push_back(parseOperand());
      if (!accept(",")) break;
    }
    i.text = std::string_view(begin, static_cast<size_t>(peek().text.data() - begin));
    expect(";");
    if (!ok()) return;
    Spelling spelling(opcode, std::move(operands));
    if (decodeControl(spelling, i) || decode(spelling, i)) {
      program_.code.push_back(i);
    } else if (ok()) {
      error_ = "line " + std::to_string(i.line) + ": unknown instruction: " + std::string(i.text);
    }
  }

  bool decode(const Spelling& spelling, Instruction& i) {
    for (auto family :
         {&decodeIntegers, &decodeFloats, &decodeHalves, &decodeComparisons, &decodeMoves,
          &decodeConversions, &decodeMemory, &decodeAtomics, &decodeWarps, &decodeMatrices}) {
      Spelling tried = spelling;
      Instruction made = i;
      if (!family(tried, made) || !tried.rest().empty()) continue;
      i = made;
      return true;
    }
    return false;
  }

  bool decodeControl(Spelling& s, Instruction& i) {
    std::string_view op = s.op();
    auto& operands = s.operands;
    bool isUniform = s.take("uni");
    if (op == "bra" && operands.size() == 1 && s.rest().empty()) {
      i.kind = Kind::kBranch;
      openLabels_.push_back({program_.code.size(), operands[0].name});
    } else if (op == "brx" && s.take("idx") && operands.size() == 2 && s.rest().empty()) {
      i.kind = Kind::kBranchIndexed;
      i.from[0] = operands[0].slot;
      i.numFrom = 1;
      auto it = tables_.find(operands[1].name);
      if (it == tables_.end()) return false;
      i.target = it->second;
    } else if (op == "ret" && operands.empty() && s.rest().empty()) {
      i.kind = Kind::kReturn;
    } else if (isUniform || !operands.empty() || !s.rest().empty()) {
      return false;
    } else if (op == "exit") {
      i.kind = Kind::kExit;
    } else if (op == "trap") {
      i.run = &trap;
    } else if (op == "nop") {
      i.run = &nothing;
    } else {
      return false;
    }
    return true;
  }

  std::vector<Name> parsePassed() {
    std::vector<Name> result;
    expect("(");
    while (ok() && !isNext(")")) {
      const Name* name = find(next().text);
      if (!name || name->kind != Name::Kind::kVariable) {
        fail("calls pass variables of .param only");
        break;
      }
      result.push_back(*name);
      if (!accept(",")) break;
    }
    expect(")");
    return result;
  }

  void parseCall(Instruction i, const char* begin) {
    OpenCall open;
    open.line = i.line;
    if (isNext("(")) {
      open.results = parsePassed();
      expect(",");
    }
    open.callee = next().text;
    if (accept(",")) open.arguments = parsePassed();
    if (accept(",")) fail("calls of functions by their address are not known");
    i.text = std::string_view(begin, static_cast<size_t>(peek().text.data() - begin));
    expect(";");
    open.site = program_.calls.size();
    i.kind = Kind::kCall;
    i.target = static_cast<int>(open.site);
    program_.calls.emplace_back();
    program_.code.push_back(i);
    openCalls_.push_back(std::move(open));
  }

  void resolveLabels() {
    auto find = [&](std::string_view label) {
      auto it = labels_.find(label);
      if (it == labels_.end()) fail("there is no label " + std::string(label));
      return it == labels_.end() ? 0 : it->second;
    };
    for (const auto& [at, label] : openLabels_) program_.code[at].target = find(label);
    for (const auto& [table, label] : openTargets_) {
      program_.tables[static_cast<size_t>(table)].push_back(find(label));
    }
    openTargets_.clear();
    tables_.clear();
  }

  void resolveCalls() {
    for (const OpenCall& open : openCalls_) {
      auto it = functions_.find(open.callee);
      auto mismatch = [&](const std::string& what) {
        error_ = "line " + std::to_string(open.line) + ": call of " + std::string(open.callee) +
                 ": " + what;
      };
      if (it == functions_.end()) return mismatch("there is no such function");
      const Function& callee = it->second;
      if (open.arguments.size() != callee.parameters.size() ||
          open.results.size() != callee.results.size()) {
        return mismatch("other numbers of parameters");
      }
      CallSite& site = program_.calls[open.site];
      site.entry = callee.begin;
      auto pass = [&](const Name& from, const Name& to, std::vector<Passed>& into) {
        if (from.bytes != to.bytes) mismatch("parameters of other sizes");
        into.push_back(
            {static_cast<int64_t>(from.address), static_cast<int64_t>(to.address), to.bytes});
      };
      for (size_t n = 0; n < open.arguments.size(); ++n) {
        pass(open.arguments[n], callee.parameters[n], site.arguments);
      }
      for (size_t n = 0; n < open.results.size(); ++n) {
        pass(callee.results[n], open.results[n], site.results);
      }
    }
  }

  Program& program_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string error_;
  std::vector<std::map<std::string_view, Name>> scopes_;
  std::vector<std::unique_ptr<std::string>> names_;  // of registers, that no token has
  std::map<std::string_view, Function> functions_;
  std::vector<OpenCall> openCalls_;
  std::vector<uint64_t> constants_;
  std::map<uint64_t, Slot> constantNumbers_;
  uint64_t numShared_ = 0;
  // Functions keep their registers and memory while kernels run that call them.
  int functionSlots_ = 0;
  size_t functionLocal_ = 0;
  // Of the function that is being read.
  bool isEntry_ = false;
  int slots_ = 0;
  size_t local_ = 0, sharedBytes_ = 0;
  std::map<uint64_t, size_t> sharedPlaces_;
  std::map<std::string_view, int> labels_, tables_;
  std::vector<std::pair<size_t, std::string_view>> openLabels_;
  std::vector<std::pair<int, std::string_view>> openTargets_;
};

}  // namespace

std::unique_ptr<Program> parse(std::string source, std::string& error) {
  auto program = std::make_unique<Program>();
  program->source = std::move(source);
  std::vector<Token> tokens;
  if (!tokenize(program->source, tokens, error)) return nullptr;
  if (!Parser(*program, std::move(tokens)).run(error)) return nullptr;
  return program;
}

}  // namespace isthmus::ptx
