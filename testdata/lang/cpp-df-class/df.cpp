#include "ucenv.h"
extern "C" {
void numbers(OutputDF &i, OutputDF &r, OutputDF &s)
{
    i.setValue(42);
    r = 2.5;
    s.setValue<std::string>("abc");
}
void show(const InputDF &i, const InputDF &r, const InputDF &s)
{
    printf("%s %s %s\n", i.to_string().c_str(), r.to_string().c_str(), s.to_string().c_str());
    printf("%zu %zu %zu\n", i.getSize(), r.getSize(), s.getSize());
    printf("%d %g %s\n", i.getValue<int>(), r.getValue<double>(), s.get_string().c_str());
    printf("%d %d %d\n", (int)i.get_type(), (int)r.get_type(), (int)s.get_type());
    DF unset;
    printf("%d %s\n", (int)unset.is_unset(), unset.to_string().c_str());
}
// A block of bytes from a number; a block from a block shares its buffer.
void share(const InputDF &in, OutputDF &out)
{
    if (in.get_type() == 1) memset(out.create(20), 'A', 20);
    else out = in;
}
void change(InputDF &a, const InputDF &b)
{
    a.getData<char>()[1] = 'B';
    printf("%.3s %s\n", b.getData<char>(), b.to_string().c_str());
}
}
