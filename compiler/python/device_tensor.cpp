#include "compiler/python/device_tensor.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "compiler/python/arrays.h"
#include "compiler/python/calls.h"
#include "runtime/base/error.h"
#include "runtime/cuda/executor.h"

namespace smelt::python {
namespace {

cuda::Device& device_of(Session& session) {
  const auto* executor = dynamic_cast<const cuda::CudaExecutor*>(&session.executor());
  if (!executor) fail("the plan is for {}: its outputs are the host's", session.plan().target);
  return cuda::Device::open(executor->device().info().ordinal);
}

/// Returns the stream of DLPack's number: 1 and nothing are the default stream, 2 is the thread's, -1
/// requests no synchronization.
std::optional<cuda::Stream> consumer_stream(nb::handle stream) {
  constexpr int64_t kNoOrder = -1, kDefault = 1;
  const int64_t number = stream.is_none() ? kDefault : nb::cast<int64_t>(stream);
  if (number == kNoOrder) return std::nullopt;
  return number == kDefault ? nullptr : reinterpret_cast<cuda::Stream>(number);
}

/// A view that keeps the tensor alive, as NumPy's array interface has no devices.
nb::object device_to_dlpack(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle device,
                            nb::handle copy) {
  const auto& tensor = nb::cast<const DeviceTensor&>(self);
  if (const auto consumer = consumer_stream(stream)) tensor.make_wait(*consumer);
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  const nb::ndarray<nb::array_api> view(tensor.data(), shape.size(), shape.data(), self, nullptr,
                                        dlpack_type(tensor.dtype()), nb::device::cuda::value,
                                        tensor.device());
  return nb::cast(view, nb::rv_policy::reference)
      .attr("__dlpack__")(nb::arg("max_version") = max_version, nb::arg("dl_device") = device,
                          nb::arg("copy") = copy);
}

nb::tuple shape_tuple_of(const DeviceTensor& tensor) {
  nb::list shape;
  for (const int64_t size : tensor.shape()) shape.append(size);
  return nb::tuple(shape);
}

}  // namespace

std::vector<DeviceTensor> DeviceTensor::run(Session& session, std::string_view entry,
                                            std::span<const InputTensor> inputs, void* stream) {
  cuda::Device& device = device_of(session);
  const auto shapes = session.output_shapes(entry, inputs);
  const auto& ports = session.entry(entry).outputs;
  std::vector<DeviceTensor> tensors(ports.size());
  std::vector<OutputBuffer> buffers;
  for (size_t i = 0; i < ports.size(); ++i) {
    DeviceTensor& made = tensors[i];
    made.name_ = ports[i].name, made.dtype_ = ports[i].dtype, made.shape_ = shapes[i], made.device_ = &device;
    made.block_ = cuda::device_block(device, made.bytes());
    made.written_ = cuda::make_event(device);
    buffers.push_back({made.name_, made.data(), made.bytes(), true});
  }
  session.run(entry, inputs, buffers, {.stream = stream});
  for (const DeviceTensor& made : tensors)
    cuda::check(cuda::driver().EventRecord(made.written_.get(), static_cast<cuda::Stream>(stream)),
                "ordering a result with a stream");
  return tensors;
}

void DeviceTensor::make_wait(cuda::Stream stream) const {
  device_->make_current();
  cuda::check(cuda::driver().StreamWaitEvent(stream, written_.get(), 0), "ordering a result with a stream");
}

HostTensor DeviceTensor::copy_to_host() const {
  HostTensor copy{name_, dtype_, shape_, std::vector<std::byte>(static_cast<size_t>(bytes()))};
  const auto stream = cuda::make_stream(*device_);
  make_wait(stream.get());
  cuda::check(
      cuda::driver().MemcpyDtoHAsync(copy.bytes.data(), block_.get(), copy.bytes.size(), stream.get()),
      "copying a result");
  cuda::check(cuda::driver().StreamSynchronize(stream.get()), "copying a result");
  return copy;
}

void bind_device_tensor(nb::module_& module) {
  nb::class_<DeviceTensor>(module, "DeviceTensor",
                           "A result in the memory of a GPU, dense and row-major. torch.from_dlpack and "
                           "others take it without a copy "
                           "and keep its memory alive.")
      .def_prop_ro("name", &DeviceTensor::name, "Of the output.")
      .def_prop_ro("dtype", [](const DeviceTensor& t) { return std::string(name(t.dtype())); })
      .def_prop_ro("shape", shape_tuple_of)
      .def_prop_ro("device", [](const DeviceTensor& t) { return fmt::format("cuda:{}", t.device()); })
      .def_prop_ro("nbytes", &DeviceTensor::bytes)
      .def(
          "cpu", [](const DeviceTensor& t) { return released([&] { return t.copy_to_host(); }); },
          "A copy in the host's memory, as a smelt.Tensor.")
      .def("__dlpack__", device_to_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__",
           [](const DeviceTensor& t) { return nb::make_tuple(nb::device::cuda::value, t.device()); })
      .def("__repr__", [](const DeviceTensor& t) {
        return fmt::format("<smelt.DeviceTensor '{}': {} on cuda:{}>", t.name(),
                           describe(t.dtype(), t.shape()), t.device());
      });
}

}  // namespace smelt::python
