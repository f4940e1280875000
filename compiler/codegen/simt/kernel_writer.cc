#include "compiler/codegen/simt/kernel_writer.h"

#include "compiler/codegen/elementwise/elementwise.h"
#include "compiler/codegen/evaluator.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {

KernelWriter::KernelWriter(llvm::Module& module, const WorkItemForm& form, const std::string& name,
                           unsigned buffers, const Items& items, unsigned groupThreads)
    : target_(form.target), builder_(module.getContext()) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types(buffers, llvm::PointerType::get(context, form.globalSpace));
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::Function::ExternalLinkage, name, &module);
  function_->setCallingConv(form.convention);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::BasicBlock* entry = newBlock("entry");
  llvm::BasicBlock* work = newBlock("work");
  exit_ = newBlock("exit");
  builder_.SetInsertPoint(entry);
  llvm::Value* isInside = builder_.getTrue();
  std::array<llvm::Value*, 3> indices =
      groupThreads == 1 ? form.indices(builder_, items) : groupIndices(form, items);
  // One item may be alone in a launch of several.
  if (items == Items{1, 1, 1} && groupThreads == 1) {
    isInside = builder_.CreateICmpEQ(indices[0], i64(0));
  }
  // Work-items are rounded up to whole groups: those beyond the last must touch nothing. Groups are
  // as many as there are items, see makeWorkItemKernel.
  for (unsigned d = 0; d < items.size(); ++d) {
    items_[d] = i64(0);
    if (items[d] == 1) continue;
    items_[d] = indices[d];
    if (groupThreads > 1) continue;
    isInside = builder_.CreateAnd(isInside, builder_.CreateICmpULT(items_[d], i64(items[d])));
  }
  if (isInside == builder_.getTrue()) {
    builder_.CreateBr(work);
  } else {
    builder_.CreateCondBr(isInside, work, exit_);
  }
  builder_.SetInsertPoint(work);
}

// The last dimension that is longer than 1 has the rest undivided.
std::array<llvm::Value*, 3> KernelWriter::groupIndices(const WorkItemForm& form,
                                                       const Items& items) {
  std::array<llvm::Value*, 3> indices{i64(0), i64(0), i64(0)};
  llvm::Value* rest = form.groupIndex(builder_);
  for (size_t d = 0; d < items.size(); ++d) {
    bool isLast = true;
    for (size_t later = d + 1; later < items.size(); ++later) isLast &= items[later] == 1;
    if (isLast) {
      indices[d] = rest;
      break;
    }
    std::tie(rest, indices[d]) = divide(rest, items[d]);
  }
  return indices;
}

llvm::BasicBlock* KernelWriter::newBlock(const char* name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
}

KernelWriter::Values KernelWriter::loop(
    int64_t count, const Values& initial,
    const std::function<Values(llvm::Value*, const Values&)>& body) {
  if (count <= 0) return initial;
  if (count == 1) return body(i64(0), initial);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* header = newBlock("loop");
  llvm::BasicBlock* done = newBlock("done");
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  llvm::PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  index->addIncoming(i64(0), before);
  Values carried;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  // The body may add blocks of its own: the loop goes back from where it ends, and there is at
  // least one round, so that the condition is asked at the end and not twice.
  Values next = body(index, carried);
  llvm::Value* following = builder_.CreateAdd(index, i64(1), "", true, true);
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  builder_.CreateCondBr(builder_.CreateICmpULT(following, i64(count)), header, done);
  index->addIncoming(following, latch);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next[i], latch);
  }
  builder_.SetInsertPoint(done);
  return next;
}

KernelWriter::Elements KernelWriter::loop(
    int64_t count, const Elements& initial,
    const std::function<Elements(llvm::Value*, const Elements&)>& body) {
  auto flatten = [](const Elements& elements) {
    Values all;
    for (const Val& element : elements) {
      all.push_back(element.re);
      if (element.im) all.push_back(element.im);
    }
    return all;
  };
  auto unflatten = [&initial](const Values& all) {
    Elements elements(initial.size());
    size_t next = 0;
    for (auto [element, model] : llvm::zip(elements, initial)) {
      element.re = all[next++];
      if (model.im) element.im = all[next++];
    }
    return elements;
  };
  return unflatten(loop(count, flatten(initial), [&](llvm::Value* i, const Values& carried) {
    return flatten(body(i, unflatten(carried)));
  }));
}

void KernelWriter::branch(llvm::Value* condition, const std::function<void()>& then) {
  llvm::BasicBlock* taken = newBlock("then");
  llvm::BasicBlock* after = newBlock("after");
  builder_.CreateCondBr(condition, taken, after);
  builder_.SetInsertPoint(taken);
  then();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

std::pair<llvm::Value*, llvm::Value*> KernelWriter::divide(llvm::Value* index, int64_t size) {
  if (size == 1) return {index, i64(0)};
  return {builder_.CreateUDiv(index, i64(size)), builder_.CreateURem(index, i64(size))};
}

llvm::Value* KernelWriter::times(llvm::Value* index, int64_t factor) {
  return factor == 1 ? index : builder_.CreateMul(index, i64(factor), "", true, true);
}

llvm::Value* KernelWriter::plus(llvm::Value* a, llvm::Value* b) {
  return builder_.CreateAdd(a, b, "", true, true);
}

llvm::Value* KernelWriter::address(llvm::Value* base, llvm::Value* index, llvm::Type* type,
                                   unsigned parts) {
  return builder_.CreateGEP(type, base, times(index, parts));
}

Val KernelWriter::load(llvm::Value* base, llvm::Value* index, const ElementKind& kind,
                       unsigned lanes, bool isAligned) {
  llvm::Type* type = kind.storageType(builder_.getContext());
  llvm::Value* place = address(base, index, type, kind.parts());
  llvm::Type* loaded = lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
  auto part = [&](llvm::Value* at, unsigned bytes) -> llvm::Value* {
    return fromStorage(builder_.CreateAlignedLoad(loaded, at, llvm::Align(bytes)), kind);
  };
  // Arrays are aligned for their elements; a vector of some in their middle is no more than that,
  // and an alignment that is not there is undefined behaviour.
  const unsigned elements = isAligned ? lanes : 1;
  Val value;
  value.re = part(place, elements * kind.storageBytes);
  if (kind.isComplex()) {
    value.im = part(builder_.CreateConstGEP1_64(type, place, 1), kind.storageBytes / 2);
  }
  return value;
}

llvm::Value* KernelWriter::fromStorage(llvm::Value* stored, const ElementKind& kind) {
  if (kind.isBool()) {
    return builder_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
  }
  if (kind.isF16 || kind.isBf16 || kind.format) {
    return bitsToFloat(builder_, target_, stored, kind);
  }
  return wrapInteger(builder_, stored, kind);
}

void KernelWriter::store(llvm::Value* base, llvm::Value* index, const ElementKind& kind,
                         const Val& value) {
  llvm::Type* type = kind.storageType(builder_.getContext());
  llvm::Value* place = address(base, index, type, kind.parts());
  auto part = [&](llvm::Value* at, unsigned bytes, llvm::Value* register_) {
    llvm::Value* stored = register_;
    if (kind.isBool()) {
      stored = builder_.CreateZExt(register_, register_->getType()->getWithNewType(type));
    } else if (kind.isF16 || kind.isBf16 || kind.format) {
      stored = floatToBits(builder_, target_, register_, kind);
    }
    builder_.CreateAlignedStore(stored, at, llvm::Align(bytes));
  };
  part(place, kind.storageBytes, value.re);
  if (kind.isComplex()) {
    part(builder_.CreateConstGEP1_64(type, place, 1), kind.storageBytes / 2, value.im);
  }
}

Val KernelWriter::convert(const Val& value, const ElementKind& from, const ElementKind& to) {
  return convertValue(builder_, target_, value, from, to);
}

Val KernelWriter::zero(const ElementKind& kind) {
  Val value;
  value.re = llvm::Constant::getNullValue(kind.computeType(builder_.getContext()));
  if (kind.isComplex()) value.im = value.re;
  return value;
}

Val KernelWriter::add(const Val& a, const Val& b, const ElementKind& kind) {
  if (kind.isFloat()) return {builder_.CreateFAdd(a.re, b.re)};
  // Sums of truth values are "any", as products are "all".
  if (kind.isBool()) return {builder_.CreateOr(a.re, b.re)};
  return {wrapInteger(builder_, builder_.CreateAdd(a.re, b.re), kind)};
}

Val KernelWriter::multiplyAdd(const Val& x, const Val& y, const Val& sum, const ElementKind& kind) {
  auto fma = [&](llvm::Value* a, llvm::Value* c, llvm::Value* d) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {d->getType()}, {a, c, d});
  };
  Val next;
  if (kind.isComplex()) {
    next.re = fma(x.re, y.re, fma(builder_.CreateFNeg(x.im), y.im, sum.re));
    next.im = fma(x.re, y.im, fma(x.im, y.re, sum.im));
  } else if (kind.isFloat()) {
    next.re = fma(x.re, y.re, sum.re);
  } else if (kind.isBool()) {
    next.re = builder_.CreateOr(sum.re, builder_.CreateAnd(x.re, y.re));
  } else {
    next.re =
        wrapInteger(builder_, builder_.CreateAdd(sum.re, builder_.CreateMul(x.re, y.re)), kind);
  }
  return next;
}

Val KernelWriter::select(llvm::Value* condition, const Val& a, const Val& b) {
  Val value;
  value.re = builder_.CreateSelect(condition, a.re, b.re);
  if (a.im) value.im = builder_.CreateSelect(condition, a.im, b.im);
  return value;
}

llvm::Value* KernelWriter::sumOfLanes(llvm::Value* vector, const ElementKind& kind) {
  for (unsigned width = Val{vector}.lanes(); width > 1; width /= 2) {
    llvm::SmallVector<int, 8> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    llvm::Value* a = builder_.CreateShuffleVector(vector, low);
    llvm::Value* b = builder_.CreateShuffleVector(vector, high);
    // The last two as scalars: a vector of one element is none in SPIR-V.
    if (width == 2) {
      a = builder_.CreateExtractElement(vector, uint64_t{0});
      b = builder_.CreateExtractElement(vector, uint64_t{1});
    }
    vector = add(Val{a}, Val{b}, kind).re;
  }
  return vector;
}

void KernelWriter::finish() {
  builder_.CreateBr(exit_);
  builder_.SetInsertPoint(exit_);
  builder_.CreateRetVoid();
}

}  // namespace isthmus::codegen
