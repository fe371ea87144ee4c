# First half of a host's boot: in a mount namespace of its own, outside any other namespace but the network's.
# What is mounted here vanishes with the last process of the host; nothing is ever left to unmount.
set -e
mount --make-rprivate /
# An own cgroup in the name=systemd hierarchy, joined BEFORE the cgroup namespace is made: its root is then the host's.
# The hierarchy is mounted here, since a machine with cgroup v2 only does not have it mounted anywhere.
# A host with a container engine has cgroup v2: with v1 the engine wants each controller of the machine.
mkdir -p $host_dir/cgroup
if [ $cgroup_version = 2 ]; then
  mount -t cgroup2 cgroup2 $host_dir/cgroup
else
  mount -t cgroup -o none,name=systemd cgroup $host_dir/cgroup
fi
mkdir -p $host_dir/cgroup/$cgroup
echo $$$$ > $host_dir/cgroup/$cgroup/cgroup.procs
umount $host_dir/cgroup
mount -t overlay $cgroup -o lowerdir=/,upperdir=$host_dir/upper,workdir=$host_dir/work $host_dir/root
exec unshare --uts --ipc --pid --fork --cgroup sh $host_dir/init.sh
