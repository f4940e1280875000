// Loads ELF object files into executable memory: code, stubs for far calls, constants and addresses
// in one run of pages, relocated, then protected.
//
// The objects may be anybody's. Whatever they say is checked: nothing outside of the objects is
// read, nothing outside of the pages is written. What the code does when it runs cannot be checked
// (docs/trust.md).
#include "backends/cpu/load/object_loader.h"

#include <elf.h>

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "backends/cpu/load/code_memory.h"

namespace isthmus::cpu {
namespace {

constexpr size_t kStubBytes = 16;  // jmp *[rip + 0] and the address
constexpr size_t kGotBytes = 8;
constexpr size_t kNowhere = SIZE_MAX;
constexpr size_t kMaxBytes = size_t{1} << 31;
// Of a symbol; many symbols may share one long string.
constexpr size_t kMaxNameBytes = 4096;

size_t alignUp(size_t value, size_t alignment) { return (value + alignment - 1) & -alignment; }

Status malformed(std::string_view what) { return invalidArgument("object file: ", what); }

// One object's headers, with every offset checked against its size.
class ElfView {
 public:
  static StatusOr<ElfView> open(std::string_view bytes) {
    ElfView view;
    view.bytes_ = bytes;
    if (bytes.size() < sizeof(Elf64_Ehdr)) return malformed("too short");
    std::memcpy(&view.header_, bytes.data(), sizeof(Elf64_Ehdr));
    const Elf64_Ehdr& header = view.header_;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
        header.e_type != ET_REL || header.e_shentsize != sizeof(Elf64_Shdr)) {
      return malformed("not a relocatable one for x86-64");
    }
    if (header.e_shoff > bytes.size() ||
        (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum) {
      return malformed("section table past the end");
    }
    if (header.e_shnum == 0) return malformed("no sections");
    view.sections_.resize(header.e_shnum);
    std::memcpy(view.sections_.data(), bytes.data() + header.e_shoff,
                header.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : view.sections_) {
      if (section.sh_type != SHT_NOBITS && (section.sh_offset > bytes.size() ||
                                            section.sh_size > bytes.size() - section.sh_offset)) {
        return malformed("section past the end");
      }
      const uint64_t alignment = section.sh_addralign;
      if (section.sh_size > kMaxBytes || alignment > 4096 || (alignment & (alignment - 1)) != 0) {
        return malformed("section too large, or oddly aligned");
      }
    }
    return view;
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  // Of a section that has bytes: any type but SHT_NOBITS.
  const char* data(const Elf64_Shdr& section) const { return bytes_.data() + section.sh_offset; }

  template <typename T>
  std::vector<T> table(const Elf64_Shdr& section) const {
    std::vector<T> entries(section.sh_size / sizeof(T));
    if (!entries.empty()) {
      std::memcpy(entries.data(), data(section), entries.size() * sizeof(T));
    }
    return entries;
  }

  StatusOr<std::string> string(const Elf64_Shdr& strings, size_t offset) const {
    if (offset >= strings.sh_size) return std::string();
    const char* begin = data(strings) + offset;
    const size_t left = std::min<size_t>(strings.sh_size - offset, kMaxNameBytes);
    const size_t size = strnlen(begin, left);
    if (size == left) return malformed("a name without an end");
    return std::string(begin, size);
  }

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

struct Symbol {
  Elf64_Sym entry;
  std::string name;
  uint64_t address = 0;  // 0 if undefined
  bool isExternal = false;
  uint64_t stub = 0;  // addresses of what leads to it; 0: none yet
  uint64_t got = 0;
};

struct ObjectFile {
  ElfView view;
  std::vector<size_t> sectionOffset;  // in the pages; kNowhere if not loaded
  std::vector<Symbol> symbols;
};

bool isLoaded(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) && section.sh_size != 0;
}
bool isExecutable(const Elf64_Shdr& section) { return section.sh_flags & SHF_EXECINSTR; }

}  // namespace

struct LoadedCode::Impl {
  CodeMemory memory;
  std::unordered_map<std::string, void*> symbols;
};

namespace {

// One load, step by step. All offsets are from the beginning of the pages.
class Loader {
 public:
  Loader(LoadedCode::Impl& code, SymbolResolver resolver) : code_(code), resolver_(resolver) {}

  Status load(std::span<const std::string> objects) {
    for (const std::string& bytes : objects) ISTHMUS_RETURN_IF_ERROR(read(bytes));
    ISTHMUS_RETURN_IF_ERROR(layOut());
    code_.memory = CodeMemory::allocate(size_);
    base_ = code_.memory.data();
    if (base_ == nullptr) return resourceExhausted("no memory for ", size_, " bytes of code");
    for (ObjectFile& file : files_) ISTHMUS_RETURN_IF_ERROR(place(file));
    for (ObjectFile& file : files_) ISTHMUS_RETURN_IF_ERROR(relocate(file));
    if (!code_.memory.protect()) {
      return resourceExhausted(
          "the system refuses to make generated code executable: too many "
          "mappings (vm.max_map_count)?");
    }
    return {};
  }

 private:
  Status read(std::string_view bytes);
  Status layOut();
  Status place(ObjectFile& file);
  Status relocate(ObjectFile& file);
  Status relocate(ObjectFile& file, const Elf64_Shdr& target, size_t offset,
                  const Elf64_Rela& relocation);
  Status resolve(Symbol& symbol);
  uint64_t stubOf(Symbol& symbol);
  uint64_t gotOf(Symbol& symbol);
  uint64_t addressOf(size_t offset) const { return reinterpret_cast<uint64_t>(base_) + offset; }

  LoadedCode::Impl& code_;
  SymbolResolver resolver_;
  std::vector<ObjectFile> files_;
  size_t size_ = 0;
  size_t nextStub_ = 0;
  size_t nextGot_ = 0;
  char* base_ = nullptr;
};

Status Loader::read(std::string_view bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(ElfView view, ElfView::open(bytes));
  ObjectFile file{std::move(view), {}, {}};
  const std::vector<Elf64_Shdr>& sections = file.view.sections();
  bool hasSymbols = false;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (hasSymbols) return malformed("two symbol tables");
    hasSymbols = true;
    if (section.sh_link >= sections.size() || sections[section.sh_link].sh_type != SHT_STRTAB) {
      return malformed("symbol table without names");
    }
    for (const Elf64_Sym& entry : file.view.table<Elf64_Sym>(section)) {
      ISTHMUS_ASSIGN_OR_RETURN(std::string name,
                               file.view.string(sections[section.sh_link], entry.st_name));
      file.symbols.push_back({.entry = entry, .name = std::move(name)});
    }
  }
  file.sectionOffset.assign(sections.size(), kNowhere);
  files_.push_back(std::move(file));
  return {};
}

// Code, stubs for far calls, constants, addresses.
Status Loader::layOut() {
  auto place = [&](auto&& wanted) -> Status {
    for (ObjectFile& file : files_) {
      for (size_t i = 0; i < file.sectionOffset.size(); ++i) {
        const Elf64_Shdr& section = file.view.sections()[i];
        if (!isLoaded(section) || !wanted(section)) continue;
        size_ = alignUp(size_, section.sh_addralign ? section.sh_addralign : 1);
        file.sectionOffset[i] = size_;
        size_ += section.sh_size;
        if (size_ > kMaxBytes) return resourceExhausted("generated code is over 2 GiB");
      }
    }
    return {};
  };
  size_t undefined = 0;
  size_t symbols = 0;
  for (const ObjectFile& file : files_) {
    symbols += file.symbols.size();
    for (const Symbol& symbol : file.symbols) undefined += symbol.entry.st_shndx == SHN_UNDEF;
  }
  ISTHMUS_RETURN_IF_ERROR(place(isExecutable));
  nextStub_ = size_ = alignUp(size_, kStubBytes);
  size_ += undefined * kStubBytes;
  // Sections that relocation alone writes to (.data.rel.ro) come here too: programs have no data
  // that their code writes to.
  ISTHMUS_RETURN_IF_ERROR(place([](const Elf64_Shdr& s) { return !isExecutable(s); }));
  nextGot_ = size_ = alignUp(size_, kGotBytes);
  size_ += symbols * kGotBytes;
  if (size_ > kMaxBytes) return resourceExhausted("generated code is over 2 GiB");
  if (size_ == 0) return malformed("nothing to load");
  return {};
}

Status Loader::place(ObjectFile& file) {
  const std::vector<Elf64_Shdr>& sections = file.view.sections();
  for (size_t i = 0; i < sections.size(); ++i) {
    if (file.sectionOffset[i] != kNowhere && sections[i].sh_type != SHT_NOBITS) {
      std::memcpy(base_ + file.sectionOffset[i], file.view.data(sections[i]), sections[i].sh_size);
    }
  }
  for (Symbol& symbol : file.symbols) {
    const uint16_t section = symbol.entry.st_shndx;
    // Names of source files are absolute symbols; nothing refers to them.
    if (section == SHN_UNDEF || section == SHN_ABS) continue;
    if (section >= sections.size()) return malformed("symbol in an unknown section");
    if (file.sectionOffset[section] == kNowhere) continue;
    if (symbol.entry.st_value > sections[section].sh_size) {
      return malformed("symbol past the end of its section");
    }
    symbol.address = addressOf(file.sectionOffset[section] + symbol.entry.st_value);
    const bool isGlobal = ELF64_ST_BIND(symbol.entry.st_info) != STB_LOCAL;
    if (!isGlobal || symbol.name.empty()) continue;
    // What others call must be code.
    if (!isExecutable(sections[section]) || symbol.entry.st_value == sections[section].sh_size) {
      continue;
    }
    code_.symbols[symbol.name] = reinterpret_cast<void*>(symbol.address);
  }
  return {};
}

Status Loader::resolve(Symbol& symbol) {
  if (symbol.address != 0) return {};
  if (symbol.entry.st_shndx != SHN_UNDEF || symbol.name.empty()) {
    return malformed("relocation by a symbol that has no address");
  }
  auto it = code_.symbols.find(symbol.name);
  void* address = it != code_.symbols.end() ? it->second : nullptr;
  if (address == nullptr && resolver_ != nullptr) {
    address = resolver_(symbol.name);
    symbol.isExternal = address != nullptr;
  }
  if (address == nullptr) {
    return notFound("generated code refers to an unknown symbol: ", symbol.name);
  }
  symbol.address = reinterpret_cast<uint64_t>(address);
  return {};
}

// A function from outside is reached through a stub, since it may be further away than 2 GiB. Only
// undefined symbols are from outside, and each has room for one stub.
uint64_t Loader::stubOf(Symbol& symbol) {
  if (symbol.stub != 0) return symbol.stub;
  constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(base_ + nextStub_, kJump, sizeof(kJump));
  std::memcpy(base_ + nextStub_ + sizeof(kJump), &symbol.address, sizeof(symbol.address));
  symbol.stub = addressOf(nextStub_);
  nextStub_ += kStubBytes;
  return symbol.stub;
}

uint64_t Loader::gotOf(Symbol& symbol) {
  if (symbol.got != 0) return symbol.got;
  std::memcpy(base_ + nextGot_, &symbol.address, sizeof(symbol.address));
  symbol.got = addressOf(nextGot_);
  nextGot_ += kGotBytes;
  return symbol.got;
}

Status Loader::relocate(ObjectFile& file) {
  for (const Elf64_Shdr& section : file.view.sections()) {
    if (section.sh_type != SHT_RELA) continue;
    if (section.sh_info >= file.sectionOffset.size()) {
      return malformed("relocations of an unknown section");
    }
    const size_t offset = file.sectionOffset[section.sh_info];
    if (offset == kNowhere) continue;
    const Elf64_Shdr& target = file.view.sections()[section.sh_info];
    for (const Elf64_Rela& relocation : file.view.table<Elf64_Rela>(section)) {
      ISTHMUS_RETURN_IF_ERROR(relocate(file, target, offset, relocation));
    }
  }
  return {};
}

Status Loader::relocate(ObjectFile& file, const Elf64_Shdr& target, size_t offset,
                        const Elf64_Rela& relocation) {
  const uint32_t type = ELF64_R_TYPE(relocation.r_info);
  if (type == R_X86_64_NONE) return {};
  const size_t bytes = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  const size_t index = ELF64_R_SYM(relocation.r_info);
  if (index >= file.symbols.size() || relocation.r_offset > target.sh_size ||
      target.sh_size - relocation.r_offset < bytes) {
    return malformed("relocation out of bounds");
  }
  Symbol& symbol = file.symbols[index];
  ISTHMUS_RETURN_IF_ERROR(resolve(symbol));
  char* place = base_ + offset + relocation.r_offset;
  const auto addend = static_cast<uint64_t>(relocation.r_addend);
  uint64_t value = 0;
  switch (type) {
    case R_X86_64_64:
      value = symbol.address + addend;
      break;
    case R_X86_64_PLT32:
      value = (symbol.isExternal ? stubOf(symbol) : symbol.address) + addend;
      break;
    case R_X86_64_PC32:
    case R_X86_64_PC64:
      value = symbol.address + addend;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = gotOf(symbol) + addend;
      break;
    default:
      return malformed(internal::concatenate("relocation of a type that is not supported: ", type));
  }
  if (type != R_X86_64_64) value -= reinterpret_cast<uint64_t>(place);
  if (bytes == 4 && static_cast<int64_t>(value) != static_cast<int32_t>(value)) {
    return malformed("relocation out of range: " + symbol.name);
  }
  std::memcpy(place, &value, bytes);  // little-endian: the low half comes first
  return {};
}

}  // namespace

LoadedCode::LoadedCode() : impl_(std::make_unique<Impl>()) {}
LoadedCode::~LoadedCode() = default;

size_t LoadedCode::sizeBytes() const { return impl_->memory.size(); }

void* LoadedCode::lookup(std::string_view name) const {
  auto it = impl_->symbols.find(std::string(name));
  return it == impl_->symbols.end() ? nullptr : it->second;
}

StatusOr<std::unique_ptr<LoadedCode>> LoadedCode::load(std::span<const std::string> objects,
                                                       SymbolResolver resolver) {
  std::unique_ptr<LoadedCode> code(new LoadedCode());
  ISTHMUS_RETURN_IF_ERROR(Loader(*code->impl_, resolver).load(objects));
  return code;
}

namespace {
#define ISTHMUS_LIBM(name)                                                        \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double)>(std::name))}, { \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float)>(std::name))  \
  }
#define ISTHMUS_LIBM2(name)                                                               \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double, double)>(std::name))}, { \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float, float)>(std::name))   \
  }

const std::unordered_map<std::string, void*>& runtimeSymbolTable() {
  static const auto* table = new std::unordered_map<std::string, void*>{
      ISTHMUS_LIBM(sin),
      ISTHMUS_LIBM(cos),
      ISTHMUS_LIBM(tan),
      ISTHMUS_LIBM(erf),
      ISTHMUS_LIBM(erfc),
      ISTHMUS_LIBM(exp),
      ISTHMUS_LIBM(exp2),
      ISTHMUS_LIBM(log),
      ISTHMUS_LIBM(floor),
      ISTHMUS_LIBM(ceil),
      ISTHMUS_LIBM(trunc),
      ISTHMUS_LIBM(rint),
      ISTHMUS_LIBM(nearbyint),
      ISTHMUS_LIBM(round),
      ISTHMUS_LIBM(cbrt),
      ISTHMUS_LIBM(sqrt),
      ISTHMUS_LIBM2(fmod),
      ISTHMUS_LIBM2(pow),
      // LLVM makes one call of a sine and a cosine of the same number, whatever passes may call.
      {"sincos", reinterpret_cast<void*>(&::sincos)},
      {"sincosf", reinterpret_cast<void*>(&::sincosf)},
      {"ldexp", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(std::ldexp))},
      {"ldexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(std::ldexp))},
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(std::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(std::fma))},
      {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
      {"memmove", reinterpret_cast<void*>(&std::memmove)},
      {"memset", reinterpret_cast<void*>(&std::memset)},
  };
  return *table;
}
}  // namespace

void* resolveRuntimeSymbol(const std::string& name) {
  const auto& table = runtimeSymbolTable();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

std::vector<std::string_view> runtimeSymbols() {
  std::vector<std::string_view> names;
  for (const auto& [name, address] : runtimeSymbolTable()) names.push_back(name);
  return names;
}

}  // namespace isthmus::cpu
