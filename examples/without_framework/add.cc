// Compiles a program of StableHLO and runs it on arrays of C++.  usage: add LIBRARY PROGRAM.mlir
#include <fstream>
#include <iostream>
#include <iterator>

#include "isthmus/client.hpp"

int main(int argc, char** argv) try {
  using namespace isthmus::client;
  if (argc != 3) throw std::runtime_error("usage: add LIBRARY PROGRAM.mlir");
  std::ifstream file(argv[2]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  Client client{Plugin(argv[1])};
  Executable add = client.compile(text);
  const std::vector<float> x = {1, 2, 3, 4}, y = {10, 20, 30, 40};
  const std::vector<Buffer> results = add({client.put(x, {4}), client.put(y, {4})});
  std::cout << "on " << client.platform() << ":";
  for (float value : results[0].to<float>()) std::cout << ' ' << value;
  std::cout << '\n';
} catch (const std::exception& error) {
  std::cerr << "add: " << error.what() << '\n';
  return 1;
}
