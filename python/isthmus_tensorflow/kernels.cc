// The kernels of our devices for single operations. Tensors of these devices hold PJRT buffers:
// TensorFlow's own kernels for any device must not touch them.
#include "kernels.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/kernels/resource_variable_ops.h"
#include "tensorflow/core/kernels/tensor_list.h"
#include "tensorflow/core/public/version.h"

namespace tensorflow {

// From a header that needs LLVM's, which the wheel lacks.
struct XlaDeviceOpRegistrations;
XlaDeviceOpRegistrations* RegisterXlaDeviceKernels(const char* device, const char* jitDevice);

}  // namespace tensorflow

namespace isthmus::tensorflow_bridge {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorList;
using tensorflow::TensorShape;

// The type of device that TensorFlow's kernels for compiling one operation and running it are
// registered for. There are no devices of it: the kernels are made for ours.
const char* oneOperation() {
  static const auto& type = *new std::string(std::string(deviceType()) + "_ONE_OPERATION");
  return type.c_str();
}

template <typename Context>
absl::Status makeKernel(Context* context, tensorflow::FunctionLibraryRuntime* library,
                        const tensorflow::NodeDef& node, int version,
                        std::unique_ptr<OpKernel>& kernel) {
  std::shared_ptr<const tensorflow::NodeProperties> properties;
  absl::Status status = tensorflow::NodeProperties::CreateFromNodeDef(
      node, tensorflow::OpRegistry::Global(), &properties);
  if (!status.ok()) return status;
  OpKernel* made = nullptr;
  status =
      tensorflow::CreateOpKernel(tensorflow::DeviceType(oneOperation()), context->device(),
                                 context->device()->GetAllocator(tensorflow::AllocatorAttributes()),
                                 library, context->resource_manager(), properties, version, &made);
  kernel.reset(made);
  return status;
}

// An operation that is compiled alone.
class CompiledOp : public OpKernel {
 public:
  explicit CompiledOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, makeKernel(context, context->function_library(), context->def(),
                                       context->graph_def_version(), kernel_));
  }
  void Compute(OpKernelContext* context) override { kernel_->Compute(context); }

 private:
  std::unique_ptr<OpKernel> kernel_;
};

// Compiles and runs an operation on tensors of the device, as a part of another one's work.
absl::Status runCompiled(OpKernelContext* context, const tensorflow::NodeDef& node,
                         const std::vector<Tensor>& inputs, std::vector<Tensor>& results) {
  std::unique_ptr<OpKernel> kernel;
  absl::Status status =
      makeKernel(context, context->function_library(), node, TF_GRAPH_DEF_VERSION, kernel);
  if (!status.ok()) return status;
  std::vector<Tensor> tensors = inputs;
  std::vector<tensorflow::TensorValue> values;
  for (Tensor& tensor : tensors) values.emplace_back(&tensor);
  std::vector<tensorflow::AllocatorAttributes> onDevice(kernel->num_outputs());
  OpKernelContext::Params params;
  const OpKernelContext::Params& outer = *context->params();
  params.step_id = outer.step_id;
  params.device = outer.device;
  params.op_kernel = kernel.get();
  params.output_attr_array = onDevice.data();
  params.resource_manager = outer.resource_manager;
  params.step_container = outer.step_container;
  params.rendezvous = outer.rendezvous;
  params.session_config = outer.session_config;
  params.session_metadata = outer.session_metadata;
  params.cancellation_manager = outer.cancellation_manager;
  params.inputs = values;
  params.op_device_context = outer.op_device_context;
  params.function_library = outer.function_library;
  params.runner = outer.runner;
  OpKernelContext inner(&params, kernel->num_outputs());
  kernel->Compute(&inner);
  if (!inner.status().ok()) return inner.status();
  for (int i = 0; i < kernel->num_outputs(); ++i) results.push_back(*inner.mutable_output(i));
  return absl::OkStatus();
}

// ---- Lists of tensors, which loops of functions that are not compiled as a whole use

absl::StatusOr<const TensorList*> listOf(OpKernelContext* context, int input = 0) {
  const Tensor& handle = context->input(input);
  const TensorList* list = handle.NumElements() == 1
                               ? handle.scalar<tensorflow::Variant>()().get<TensorList>()
                               : nullptr;
  if (list == nullptr) return absl::InvalidArgumentError("isthmus: expected a list of tensors");
  return list;
}

// The shape of elements that were never set: that of the list, else that of another element.
absl::StatusOr<TensorShape> shapeOfElements(OpKernelContext* context, const TensorList& list) {
  tensorflow::PartialTensorShape shape = list.element_shape, merged;
  const Tensor& given = context->input(context->num_inputs() - 1);  // element_shape
  if (given.dims() == 1) {
    tensorflow::PartialTensorShape wanted;
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < given.NumElements(); ++i) {
      dims.push_back(given.dtype() == tensorflow::DT_INT32 ? given.flat<int32_t>()(i)
                                                           : given.flat<int64_t>()(i));
    }
    absl::Status status = tensorflow::PartialTensorShape::MakePartialShape(
        dims.data(), static_cast<int>(dims.size()), &wanted);
    if (status.ok()) status = shape.MergeWith(wanted, &merged);
    if (!status.ok()) return status;
    shape = merged;
  }
  for (const Tensor& element : list.tensors()) {
    if (element.dtype() == tensorflow::DT_INVALID) continue;
    absl::Status status =
        shape.MergeWith(tensorflow::PartialTensorShape(element.shape().dim_sizes()), &merged);
    if (!status.ok()) return status;
    shape = merged;
  }
  TensorShape result;
  if (!shape.AsTensorShape(&result)) {
    return absl::InvalidArgumentError(
        "isthmus: a list of tensors whose elements have no shape yet");
  }
  return result;
}

absl::StatusOr<Tensor> zerosOnDevice(OpKernelContext* context, tensorflow::DataType type,
                                     const TensorShape& shape) {
  tensorflow::AllocatorAttributes onHost;
  onHost.set_on_host(true);
  Tensor host, result;
  absl::Status status = context->allocate_temp(type, shape, &host, onHost);
  if (status.ok()) status = context->allocate_temp(type, shape, &result);
  if (!status.ok()) return status;
  std::memset(host.data(), 0, host.TotalBytes());
  status = context->op_device_context()->CopyCPUTensorToDeviceSync(
      &host, static_cast<tensorflow::Device*>(context->device()), &result);
  if (!status.ok()) return status;
  return result;
}

absl::Status setList(OpKernelContext* context, int output, TensorList list) {
  tensorflow::AllocatorAttributes onHost;
  onHost.set_on_host(true);
  Tensor* handle = nullptr;
  absl::Status status = context->allocate_output(output, TensorShape({}), &handle, onHost);
  if (status.ok()) handle->scalar<tensorflow::Variant>()() = std::move(list);
  return status;
}

// What knows the type of a list's elements, if the operation says it.
class TypedOp : public OpKernel {
 public:
  explicit TypedOp(OpKernelConstruction* context) : OpKernel(context) {
    if (!context->HasAttr("element_dtype")) return;
    OP_REQUIRES_OK(context, context->GetAttr("element_dtype", &type_));
  }

 protected:
  tensorflow::DataType type_ = tensorflow::DT_INVALID;
};

// An operation whose first operand is a list.
class ListOp : public TypedOp {
 public:
  using TypedOp::TypedOp;
  void Compute(OpKernelContext* context) final {
    auto list = listOf(context);
    OP_REQUIRES_OK(context, list.ok() ? run(context, **list) : list.status());
  }

 protected:
  virtual absl::Status run(OpKernelContext* context, const TensorList& list) = 0;
};

// TensorListStack: the elements as one tensor.
class StackOp : public ListOp {
 public:
  using ListOp::ListOp;

 protected:
  absl::Status run(OpKernelContext* context, const TensorList& list) override {
    auto shape = shapeOfElements(context, list);
    if (!shape.ok()) return shape.status();
    std::vector<Tensor> elements = list.tensors();
    if (elements.empty()) {
      shape->InsertDim(0, 0);
      Tensor* empty = nullptr;
      return context->allocate_output(0, *shape, &empty);
    }
    for (Tensor& element : elements) {
      if (element.dtype() == tensorflow::DT_INVALID) {
        auto zeros = zerosOnDevice(context, type_, *shape);
        if (!zeros.ok()) return zeros.status();
        element = *zeros;
      }
      if (element.dtype() != type_ || element.shape() != *shape) {
        return absl::InvalidArgumentError("isthmus: elements of a list differ in shape or type");
      }
    }
    tensorflow::NodeDef node;
    std::vector<tensorflow::NodeDefBuilder::NodeOut> inputs(elements.size(), {"element", 0, type_});
    std::vector<Tensor> results;
    absl::Status status =
        tensorflow::NodeDefBuilder("stack", "Pack").Input(inputs).Attr("axis", 0).Finalize(&node);
    if (status.ok()) status = runCompiled(context, node, elements, results);
    if (status.ok()) context->set_output(0, results[0]);
    return status;
  }
};

// TensorListFromTensor: the rows of a tensor.
class FromTensorOp : public TypedOp {
 public:
  using TypedOp::TypedOp;
  void Compute(OpKernelContext* context) override {
    const Tensor& tensor = context->input(0);
    OP_REQUIRES(context, tensor.dims() > 0,
                absl::InvalidArgumentError("isthmus: a list of the rows of a scalar"));
    TensorList list;
    list.element_dtype = type_;
    TensorShape row = tensor.shape();
    row.RemoveDim(0);
    list.element_shape = tensorflow::PartialTensorShape(row.dim_sizes());
    if (tensor.NumElements() == 0) {
      for (int64_t i = 0; i < tensor.dim_size(0); ++i) {
        Tensor empty;
        OP_REQUIRES_OK(context, context->allocate_temp(type_, row, &empty));
        list.tensors().push_back(empty);
      }
    } else {
      tensorflow::NodeDef node;
      OP_REQUIRES_OK(context, tensorflow::NodeDefBuilder("rows", "Unpack")
                                  .Input("tensor", 0, type_)
                                  .Attr("num", tensor.dim_size(0))
                                  .Attr("axis", 0)
                                  .Finalize(&node));
      OP_REQUIRES_OK(context, runCompiled(context, node, {tensor}, list.tensors()));
    }
    OP_REQUIRES_OK(context, setList(context, 0, std::move(list)));
  }
};

// The element at `index`, zeros if it was never set.
absl::StatusOr<Tensor> elementOf(OpKernelContext* context, const TensorList& list, int64_t index,
                                 tensorflow::DataType type) {
  const auto count = static_cast<int64_t>(list.tensors().size());
  if (index < 0 || index >= count) {
    return absl::InvalidArgumentError("isthmus: element " + std::to_string(index) +
                                      " of a list of " + std::to_string(count));
  }
  const Tensor& element = list.tensors()[index];
  if (element.dtype() == tensorflow::DT_INVALID) {
    auto shape = shapeOfElements(context, list);
    if (!shape.ok()) return shape.status();
    return zerosOnDevice(context, type, *shape);
  }
  if (element.dtype() != type) {
    return absl::InvalidArgumentError("isthmus: an element of another type than was asked for");
  }
  return element;
}

// TensorListGetItem.
class GetItemOp : public ListOp {
 public:
  using ListOp::ListOp;

 protected:
  absl::Status run(OpKernelContext* context, const TensorList& list) override {
    auto element = elementOf(context, list, context->input(1).scalar<int32_t>()(), type_);
    if (element.ok()) context->set_output(0, *element);
    return element.status();
  }
};

// TensorListPopBack: the list without its last element, and that.
class PopBackOp : public ListOp {
 public:
  using ListOp::ListOp;

 protected:
  absl::Status run(OpKernelContext* context, const TensorList& list) override {
    auto last = static_cast<int64_t>(list.tensors().size()) - 1;
    auto element = elementOf(context, list, last, type_);
    if (!element.ok()) return element.status();
    context->set_output(1, *element);
    TensorList rest = list.Copy();
    rest.tensors().pop_back();
    return setList(context, 0, std::move(rest));
  }
};

// ZerosLike of a list, which is what gradients of loops start from.
class ListOfZerosOp : public ListOp {
 public:
  using ListOp::ListOp;

 protected:
  absl::Status run(OpKernelContext* context, const TensorList& list) override {
    TensorList result = list.Copy();
    for (Tensor& element : result.tensors()) {
      if (element.dtype() == tensorflow::DT_INVALID) continue;
      auto zeros = zerosOnDevice(context, element.dtype(), element.shape());
      if (!zeros.ok()) return zeros.status();
      element = *zeros;
    }
    return setList(context, 0, std::move(result));
  }
};

// AddN of lists: element by element, of which those that were never set are zeros.
class SumOfListsOp : public ListOp {
 public:
  using ListOp::ListOp;

 protected:
  absl::Status run(OpKernelContext* context, const TensorList& first) override {
    TensorList result = first.Copy();
    for (int i = 1; i < context->num_inputs(); ++i) {
      auto list = listOf(context, i);
      if (!list.ok()) return list.status();
      if ((*list)->tensors().size() != result.tensors().size()) {
        return absl::InvalidArgumentError("isthmus: a sum of lists of different lengths");
      }
      for (size_t k = 0; k < result.tensors().size(); ++k) {
        absl::Status status = add(context, (*list)->tensors()[k], result.tensors()[k]);
        if (!status.ok()) return status;
      }
    }
    return setList(context, 0, std::move(result));
  }

 private:
  static absl::Status add(OpKernelContext* context, const Tensor& element, Tensor& sum) {
    if (element.dtype() == tensorflow::DT_INVALID) return absl::OkStatus();
    if (sum.dtype() == tensorflow::DT_INVALID) {
      sum = element;
      return absl::OkStatus();
    }
    tensorflow::NodeDef node;
    std::vector<Tensor> results;
    absl::Status status = tensorflow::NodeDefBuilder("sum", "AddV2")
                              .Input("x", 0, sum.dtype())
                              .Input("y", 0, sum.dtype())
                              .Finalize(&node);
    if (status.ok()) status = runCompiled(context, node, {sum, element}, results);
    if (status.ok()) sum = results[0];
    return status;
  }
};

// What TensorFlow would do by reading memory that is not the host's, which ends the process; or, of
// collectives, by programs of one device each, whose order nothing decides.
class RefusedOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const std::string op(type_string());
    const char* instead =
        op.rfind("Collective", 0) == 0
            ? "give the strategy cross_device_ops=tf.distribute.ReductionToOneDevice()"
            : "put it into a tf.function(jit_compile=True), or under tf.device(\"/CPU:0\")";
    context->SetStatus(absl::UnimplementedError("isthmus: " + op + " has no kernel on " +
                                                deviceType() + " devices; " + instead));
  }
};

// ---- Registration

// What is not compiled alone, and so left to TensorFlow or a kernel below: calls of functions;
// lists and collectives; constants, whose integers it keeps on the host; and what has results of a
// size that depends on values, which it then does on its CPU.
bool isLeftToTensorFlow(const std::string& op) {
  static const auto& ops = *new std::set<std::string>{
      "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
      "StatelessWhile", "SymbolicGradient", "While", "XlaLaunch",
      //
      "_ArrayToList", "_EagerConst", "_ListToArray", "DeviceIndex", "FakeParam",
      //
      "DynamicPartition", "NonMaxSuppressionV3", "Unique", "UniqueV2", "Where"};
  for (const char* family : {"Collective", "EmptyTensorList", "TensorList"}) {
    if (op.rfind(family, 0) == 0) return true;
  }
  return ops.count(op) != 0;
}

template <typename Kernel>
OpKernel* make(OpKernelConstruction* context) {
  return new Kernel(context);
}

// Lists and handles are not what is compiled, and have kernels of their own.
void removeOtherTypes(tensorflow::KernelDef& kernel) {
  for (auto& constraint : *kernel.mutable_constraint()) {
    auto* types = constraint.mutable_allowed_values()->mutable_list()->mutable_type();
    for (int i = types->size() - 1; i >= 0; --i) {
      const int type = types->Get(i);
      if (type == tensorflow::DT_VARIANT || type == tensorflow::DT_STRING) {
        types->erase(types->begin() + i);
      }
    }
  }
}

void registerKernel(std::unique_ptr<tensorflow::KernelDef> kernel,
                    OpKernel* (*factory)(OpKernelConstruction*)) {
  kernel->set_device_type(deviceType());
  // The registry keeps it: it takes the description and asks for no registrar afterwards.
  tensorflow::kernel_factory::OpKernelRegistrar(kernel.release(), "isthmus", factory);
}

void registerKernel(const char* op, std::vector<const char*> onHost,
                    OpKernel* (*factory)(OpKernelConstruction*),
                    tensorflow::DataType onlyFor = tensorflow::DT_INVALID,
                    const char* attribute = "T") {
  auto kernel = std::make_unique<tensorflow::KernelDef>();
  kernel->set_op(op);
  if (onlyFor != tensorflow::DT_INVALID) {
    auto* constraint = kernel->add_constraint();
    constraint->set_name(attribute);
    constraint->mutable_allowed_values()->mutable_list()->add_type(onlyFor);
  }
  for (const char* argument : onHost) kernel->add_host_memory_arg(argument);
  registerKernel(std::move(kernel), factory);
}

}  // namespace

void registerKernels() {
  tensorflow::RegisterXlaDeviceKernels(oneOperation(), kCompilationDevice);
  for (const tensorflow::KernelDef* kernel : tensorflow::XlaOpRegistry::DeviceKernels(
           kCompilationDevice, /*include_compilation_only_kernels=*/false)) {
    if (isLeftToTensorFlow(kernel->op())) continue;
    auto own = std::make_unique<tensorflow::KernelDef>(*kernel);
    for (const std::string& argument :
         *tensorflow::XlaOpRegistry::CompileTimeConstantInputArgNames(kernel->op())) {
      own->add_host_memory_arg(argument);
    }
    removeOtherTypes(*own);
    registerKernel(std::move(own), make<CompiledOp>);
  }
  // TensorFlow has it for devices of any kind and all types but this one, whose variables would be
  // the CPU's, where no jitted function of ours may use them.
  registerKernel("VarHandleOp", {"resource"}, make<tensorflow::VarHandleOp>, tensorflow::DT_INT32,
                 "dtype");
  registerKernel("ZerosLike", {}, make<ListOfZerosOp>, tensorflow::DT_VARIANT);
  registerKernel("AddN", {}, make<SumOfListsOp>, tensorflow::DT_VARIANT);
  registerKernel("TensorListStack", {"element_shape"}, make<StackOp>);
  registerKernel("TensorListFromTensor", {"element_shape"}, make<FromTensorOp>);
  registerKernel("TensorListGetItem", {"index", "element_shape"}, make<GetItemOp>);
  registerKernel("TensorListPopBack", {"element_shape"}, make<PopBackOp>);
  registerKernel("TensorListGather", {"indices", "element_shape"}, make<RefusedOp>);
  registerKernel("TensorListScatter", {"indices", "element_shape"}, make<RefusedOp>);
  registerKernel("TensorListScatterV2", {"indices", "element_shape", "num_elements"},
                 make<RefusedOp>);
  registerKernel("TensorListScatterIntoExistingList", {"indices"}, make<RefusedOp>);
  registerKernel("TensorListConcat", {"lengths"}, make<RefusedOp>);
  registerKernel("TensorListConcatV2", {"element_shape", "leading_dims", "lengths"},
                 make<RefusedOp>);
  registerKernel("TensorListSplit", {"element_shape", "lengths"}, make<RefusedOp>);
  registerKernel("TensorListPushBackBatch", {}, make<RefusedOp>);
  for (const char* op :
       {"CollectiveReduceV2", "CollectiveGatherV2", "CollectiveReduceScatterV2",
        "CollectiveAllToAllV2", "CollectiveBcastSendV2", "CollectiveBcastRecvV2"}) {
    registerKernel(op, {"group_size", "group_key", "instance_key"}, make<RefusedOp>);
  }
}

}  // namespace isthmus::tensorflow_bridge
