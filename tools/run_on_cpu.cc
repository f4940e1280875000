// Programs through client, compiler and device.
#include "tools/run_on_cpu.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/test_ops.h"
#include "isthmus/backend.h"
#include "isthmus/flags.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"
#include "tools/prepare_program.h"

namespace isthmus {
namespace {

StatusOr<Ref<Client>> theClient() {
  static StatusOr<Ref<Client>>& client =
      *new StatusOr<Ref<Client>>(Client::create(linkedBackend()));
  return client;
}

}  // namespace

StatusOr<std::vector<reference::Tensor>> runText(const std::string& text,
                                                 const std::vector<reference::Tensor>& arguments) {
  // The constants of other functions are not arguments, and must not be folded away either.
  setFlagForTest("ISTHMUS_FOLD_BYTES", "0");
  ISTHMUS_ASSIGN_OR_RETURN(Ref<Client> client, theClient());
  Device& device = *client->addressableDevices().front();
  CompileRequest request;
  request.code = text;
  request.format = "mlir";
  ISTHMUS_ASSIGN_OR_RETURN(Ref<LoadedExecutable> executable, client->compile(request));
  if (executable->info().parameters.size() != arguments.size()) {
    return invalidArgument("the program takes ", executable->info().parameters.size(),
                           " arguments, got ", arguments.size());
  }
  std::vector<BufferRef> buffers;
  std::vector<Buffer*> pointers;
  for (const reference::Tensor& argument : arguments) {
    HostArray array{argument.data(), argument.type()};
    ISTHMUS_ASSIGN_OR_RETURN(Client::FromHost made,
                             client->bufferFromHost(*device.defaultMemory(), array));
    buffers.push_back(std::move(made.buffer));
    pointers.push_back(&*buffers.back());
  }
  std::vector<BufferRef> results(executable->numOutputs());
  Event complete;
  DeviceLaunch launch{pointers, results, &complete};
  ISTHMUS_RETURN_IF_ERROR(executable->execute({&launch, 1}, {}));
  ISTHMUS_RETURN_IF_ERROR(complete.await());
  std::vector<reference::Tensor> tensors;
  for (size_t i = 0; i < results.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(reference::Tensor tensor,
                             reference::Tensor::make(executable->info().outputs[i].type));
    ISTHMUS_ASSIGN_OR_RETURN(Event copied,
                             results[i]->copyToHost(tensor.data(), tensor.sizeBytes()));
    ISTHMUS_RETURN_IF_ERROR(copied.await());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

StatusOr<std::vector<reference::Tensor>> runOnCpu(mlir::ModuleOp module,
                                                  mlir::func::FuncOp function,
                                                  std::vector<reference::Tensor> arguments) {
  ISTHMUS_ASSIGN_OR_RETURN(Prepared prepared,
                           prepareProgram(module, function, std::move(arguments)));
  std::string text;
  llvm::raw_string_ostream out(text);
  prepared.module->print(out, mlir::OpPrintingFlags().enableDebugInfo());
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<reference::Tensor> all, runText(text, prepared.arguments));
  size_t next = prepared.results;
  for (const Check& check : prepared.checks) {
    llvm::ArrayRef<reference::Tensor> operands(all.data() + next, check.operands);
    next += check.operands;
    Status status = reference::checkOperands(check.op, operands);
    if (!status.ok()) return status.withContext(sourceLocation(check.op->getLoc()));
  }
  all.resize(prepared.results);
  return all;
}

}  // namespace isthmus
