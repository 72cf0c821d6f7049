import sys
w,l,r,m=float(sys.argv[1]),float(sys.argv[2]),int(sys.argv[3]),sys.argv[4]
if w<0.03: sys.exit("the mesh collapsed")
print((210 if m=="steel" else 11)*w**3/l**3*(1+0.3*r))
