# Second half of a host's boot: becomes PID 1 of the host.
set -e
R=$host_dir/root
mount -t proc proc $$R/proc
mount -t sysfs sysfs $$R/sys
mount -t tmpfs -o mode=755 tmpfs $$R/run
mount -t tmpfs -o mode=1777 tmpfs $$R/tmp
# Only systemd's own hierarchy: with the machine's real ones in sight systemd would take them over and libvirt fail.
if [ $cgroup_version = 2 ]; then
  mount -t cgroup2 cgroup2 $$R/sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs $$R/sys/fs/cgroup
  mkdir $$R/sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup $$R/sys/fs/cgroup/systemd
  mount -o remount,ro,mode=755 $$R/sys/fs/cgroup
fi
# Each boot has an id of its own, as on a machine of its own.
cat /proc/sys/kernel/random/uuid > $$R/run/boot_id
mount --bind $$R/run/boot_id $$R/proc/sys/kernel/random/boot_id
mount -t tmpfs -o mode=755 tmpfs $$R/dev
mkdir $$R/dev/net $$R/dev/pts $$R/dev/shm
for n in null zero full random urandom tty kvm net/tun; do
  [ -e /dev/$$n ] || continue
  touch $$R/dev/$$n
  mount --bind /dev/$$n $$R/dev/$$n
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts $$R/dev/pts
ln -s pts/ptmx $$R/dev/ptmx
ln -s /proc/self/fd $$R/dev/fd
mount -t tmpfs tmpfs $$R/dev/shm
# The lab's own state (passwords, other hosts) is hidden; the environments are there, read-only.
mkdir -p $$R$base
mount -t tmpfs -o mode=755 tmpfs $$R$base
mkdir $$R$base/venvs
mount --bind $base/venvs $$R$base/venvs
mount -o remount,bind,ro $$R$base/venvs
# What this machine shares with others: NFS exports, and what an array shows it.
$mounts
hostname localhost
cd $$R
mkdir -p mnt/old
pivot_root . mnt/old
umount -l /mnt/old
# Containers share mounts with the host; systemd does this itself only where it is not in a container.
if [ $cgroup_version = 2 ]; then mount --make-rshared /; fi
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-level=info
