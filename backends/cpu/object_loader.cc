// Loads ELF object files into executable memory: sections are laid out in one mapping (code, then
// data), relocated, and protected so that no page is both writable and executable.
#include "backends/cpu/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace isthmus::cpu {
namespace {

constexpr size_t kStubBytes = 16;  // jmp *[rip + 0] and the address
constexpr size_t kGotBytes = 8;

size_t alignUp(size_t value, size_t alignment) { return (value + alignment - 1) & -alignment; }

// One object's headers, with every offset checked against its size.
class ElfView {
 public:
  static StatusOr<ElfView> open(std::string_view bytes) {
    ElfView view;
    view.bytes_ = bytes;
    if (bytes.size() < sizeof(Elf64_Ehdr)) return invalidArgument("object file is too short");
    std::memcpy(&view.header_, bytes.data(), sizeof(Elf64_Ehdr));
    const Elf64_Ehdr& header = view.header_;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
        header.e_type != ET_REL || header.e_shentsize != sizeof(Elf64_Shdr)) {
      return invalidArgument("not a relocatable x86-64 object file");
    }
    if (header.e_shoff > bytes.size() ||
        (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum) {
      return invalidArgument("object file: section table past the end");
    }
    view.sections_.resize(header.e_shnum);
    std::memcpy(view.sections_.data(), bytes.data() + header.e_shoff,
                header.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : view.sections_) {
      if (section.sh_type != SHT_NOBITS && (section.sh_offset > bytes.size() ||
                                            section.sh_size > bytes.size() - section.sh_offset)) {
        return invalidArgument("object file: section past the end");
      }
      if (section.sh_size > (size_t{1} << 31) || section.sh_addralign > 4096) {
        return invalidArgument("object file: section too large");
      }
    }
    return view;
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const char* data(const Elf64_Shdr& section) const { return bytes_.data() + section.sh_offset; }

  template <typename T>
  std::vector<T> table(const Elf64_Shdr& section) const {
    std::vector<T> entries(section.sh_size / sizeof(T));
    if (!entries.empty()) {
      std::memcpy(entries.data(), data(section), entries.size() * sizeof(T));
    }
    return entries;
  }

  std::string string(const Elf64_Shdr& strings, size_t offset) const {
    if (offset >= strings.sh_size) return "";
    const char* begin = data(strings) + offset;
    return std::string(begin, strnlen(begin, strings.sh_size - offset));
  }

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

struct ObjectFile {
  ElfView view;
  std::vector<size_t> sectionOffset;  // in the mapping; SIZE_MAX if not loaded
  std::vector<Elf64_Sym> symbols;
  std::vector<std::string> symbolNames;
  std::vector<uint64_t> symbolAddress;  // 0 if undefined
};

bool isExecutable(const Elf64_Shdr& section) { return section.sh_flags & SHF_EXECINSTR; }

}  // namespace

struct LoadedCode::Symbols {
  std::unordered_map<std::string, void*> table;
};

LoadedCode::LoadedCode() : symbols_(std::make_unique<Symbols>()) {}
LoadedCode::~LoadedCode() {
  if (base_) munmap(base_, size_);
}

void* LoadedCode::lookup(std::string_view name) const {
  auto it = symbols_->table.find(std::string(name));
  return it == symbols_->table.end() ? nullptr : it->second;
}

StatusOr<std::unique_ptr<LoadedCode>> LoadedCode::load(std::span<const std::string> objects,
                                                       SymbolResolver resolver) {
  std::vector<ObjectFile> files;
  size_t undefined = 0;
  for (const std::string& bytes : objects) {
    ISTHMUS_ASSIGN_OR_RETURN(ElfView view, ElfView::open(bytes));
    ObjectFile file{std::move(view), {}, {}, {}, {}};
    for (const Elf64_Shdr& section : file.view.sections()) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (section.sh_link >= file.view.sections().size()) {
        return invalidArgument("object file: symbol table without names");
      }
      file.symbols = file.view.table<Elf64_Sym>(section);
      const Elf64_Shdr& strings = file.view.sections()[section.sh_link];
      for (const Elf64_Sym& symbol : file.symbols) {
        file.symbolNames.push_back(file.view.string(strings, symbol.st_name));
        undefined += symbol.st_shndx == SHN_UNDEF;
      }
    }
    file.symbolAddress.assign(file.symbols.size(), 0);
    file.sectionOffset.assign(file.view.sections().size(), SIZE_MAX);
    files.push_back(std::move(file));
  }

  // Layout: code, stubs for far calls | read-only data | written data and addresses.
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t size = 0;
  auto place = [&](auto&& wanted) {
    for (ObjectFile& file : files) {
      for (size_t i = 0; i < file.view.sections().size(); ++i) {
        const Elf64_Shdr& section = file.view.sections()[i];
        if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0 || !wanted(section)) continue;
        size = alignUp(size, section.sh_addralign ? section.sh_addralign : 1);
        file.sectionOffset[i] = size;
        size += section.sh_size;
      }
    }
  };
  place(isExecutable);
  size_t stubs = size = alignUp(size, kStubBytes);
  size += undefined * kStubBytes;
  size_t codeEnd = size = alignUp(size, page);
  place([](const Elf64_Shdr& s) { return !isExecutable(s) && !(s.sh_flags & SHF_WRITE); });
  size_t got = size = alignUp(size, kGotBytes);
  size_t gotEntries = 0;
  for (const ObjectFile& file : files) gotEntries += file.symbols.size();
  size += gotEntries * kGotBytes;
  size_t constantEnd = size = alignUp(size, page);
  place([](const Elf64_Shdr& s) { return !isExecutable(s) && (s.sh_flags & SHF_WRITE); });
  size = alignUp(size ? size : 1, page);
  if (size > (size_t{1} << 31)) return resourceExhausted("generated code is over 2 GiB");

  std::unique_ptr<LoadedCode> code(new LoadedCode());
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return resourceExhausted("no memory for ", size, " bytes of code");
  code->base_ = mapping;
  code->size_ = size;
  char* base = static_cast<char*>(mapping);
  auto addressOf = [&](size_t offset) { return reinterpret_cast<uint64_t>(base) + offset; };

  for (ObjectFile& file : files) {
    for (size_t i = 0; i < file.view.sections().size(); ++i) {
      const Elf64_Shdr& section = file.view.sections()[i];
      if (file.sectionOffset[i] != SIZE_MAX && section.sh_type != SHT_NOBITS) {
        std::memcpy(base + file.sectionOffset[i], file.view.data(section), section.sh_size);
      }
    }
    for (size_t i = 0; i < file.symbols.size(); ++i) {
      const Elf64_Sym& symbol = file.symbols[i];
      if (symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_shndx == SHN_ABS) {
        file.symbolAddress[i] = symbol.st_value;
        continue;
      }
      if (symbol.st_shndx >= file.sectionOffset.size()) {
        return invalidArgument("object file: symbol in an unknown section");
      }
      size_t offset = file.sectionOffset[symbol.st_shndx];
      if (offset == SIZE_MAX) continue;
      file.symbolAddress[i] = addressOf(offset + symbol.st_value);
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && !file.symbolNames[i].empty()) {
        code->symbols_->table[file.symbolNames[i]] = reinterpret_cast<void*>(file.symbolAddress[i]);
      }
    }
  }

  // A symbol from outside is reached through a stub, since it may be further away than 2 GiB.
  size_t nextStub = stubs;
  size_t nextGot = got;
  for (ObjectFile& file : files) {
    std::vector<uint64_t> stubAddress(file.symbols.size(), 0);
    std::vector<uint64_t> gotAddress(file.symbols.size(), 0);
    std::vector<bool> external(file.symbols.size(), false);
    auto resolve = [&](size_t index) -> Status {
      if (file.symbolAddress[index] || file.symbolNames[index].empty()) return Status();
      const std::string& name = file.symbolNames[index];
      auto it = code->symbols_->table.find(name);
      if (it != code->symbols_->table.end()) {
        file.symbolAddress[index] = reinterpret_cast<uint64_t>(it->second);
        return Status();
      }
      void* address = resolver ? resolver(name) : nullptr;
      if (!address) {
        if (ELF64_ST_BIND(file.symbols[index].st_info) == STB_WEAK) return Status();
        return notFound("generated code refers to an unknown symbol: ", name);
      }
      file.symbolAddress[index] = reinterpret_cast<uint64_t>(address);
      external[index] = true;
      return Status();
    };

    for (const Elf64_Shdr& section : file.view.sections()) {
      if (section.sh_type != SHT_RELA) continue;
      if (section.sh_info >= file.sectionOffset.size()) {
        return invalidArgument("object file: relocations of an unknown section");
      }
      size_t target = file.sectionOffset[section.sh_info];
      if (target == SIZE_MAX) continue;
      size_t targetSize = file.view.sections()[section.sh_info].sh_size;
      for (const Elf64_Rela& relocation : file.view.table<Elf64_Rela>(section)) {
        size_t index = ELF64_R_SYM(relocation.r_info);
        if (index >= file.symbols.size() || relocation.r_offset > targetSize ||
            targetSize - relocation.r_offset < 4) {
          return invalidArgument("object file: relocation out of bounds");
        }
        ISTHMUS_RETURN_IF_ERROR(resolve(index));
        char* place = base + target + relocation.r_offset;
        uint64_t here = reinterpret_cast<uint64_t>(place);
        uint64_t symbol = file.symbolAddress[index];
        auto store32 = [&](uint64_t value) -> Status {
          if (static_cast<int64_t>(value) != static_cast<int32_t>(value)) {
            return internalError("relocation of ", file.symbolNames[index], " out of range");
          }
          int32_t narrow = static_cast<int32_t>(value);
          std::memcpy(place, &narrow, 4);
          return Status();
        };
        switch (ELF64_R_TYPE(relocation.r_info)) {
          case R_X86_64_NONE:
            break;
          case R_X86_64_64: {
            if (targetSize - relocation.r_offset < 8) {
              return invalidArgument("object file: relocation out of bounds");
            }
            uint64_t value = symbol + relocation.r_addend;
            std::memcpy(place, &value, 8);
            break;
          }
          case R_X86_64_PLT32:
            if (external[index]) {
              if (!stubAddress[index]) {
                const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
                std::memcpy(base + nextStub, jump, sizeof(jump));
                std::memcpy(base + nextStub + sizeof(jump), &symbol, 8);
                stubAddress[index] = addressOf(nextStub);
                nextStub += kStubBytes;
              }
              symbol = stubAddress[index];
            }
            [[fallthrough]];
          case R_X86_64_PC32:
            ISTHMUS_RETURN_IF_ERROR(store32(symbol + relocation.r_addend - here));
            break;
          case R_X86_64_PC64: {
            if (targetSize - relocation.r_offset < 8) {
              return invalidArgument("object file: relocation out of bounds");
            }
            uint64_t value = symbol + relocation.r_addend - here;
            std::memcpy(place, &value, 8);
            break;
          }
          case R_X86_64_GOTPCREL:
          case R_X86_64_GOTPCRELX:
          case R_X86_64_REX_GOTPCRELX:
            if (!gotAddress[index]) {
              std::memcpy(base + nextGot, &symbol, 8);
              gotAddress[index] = addressOf(nextGot);
              nextGot += kGotBytes;
            }
            ISTHMUS_RETURN_IF_ERROR(store32(gotAddress[index] + relocation.r_addend - here));
            break;
          case R_X86_64_32:
          case R_X86_64_32S:
          default:
            return internalError("object file: relocation type ", ELF64_R_TYPE(relocation.r_info),
                                 " is not supported");
        }
      }
    }
  }

  if ((codeEnd && mprotect(base, codeEnd, PROT_READ | PROT_EXEC) != 0) ||
      (constantEnd > codeEnd && mprotect(base + codeEnd, constantEnd - codeEnd, PROT_READ) != 0)) {
    return internalError("cannot make generated code executable");
  }
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
}  // namespace

void* resolveRuntimeSymbol(const std::string& name) {
  static const auto* table = new std::unordered_map<std::string, void*>{
      ISTHMUS_LIBM(sin),
      ISTHMUS_LIBM(cos),
      ISTHMUS_LIBM(tan),
      ISTHMUS_LIBM(exp),
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
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(std::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(std::fma))},
      {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
      {"memmove", reinterpret_cast<void*>(&std::memmove)},
      {"memset", reinterpret_cast<void*>(&std::memset)},
  };
  auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace isthmus::cpu
