/** Show any JSON: an object as a table, everything else as text. */

export function Values({ value }: { value: unknown }) {
  if (value === undefined || value === null) return null;
  if (typeof value !== "object") return <p className="said">{String(value)}</p>;
  const rows = Object.entries(value);
  if (Array.isArray(value) || rows.length === 0) return <pre>{JSON.stringify(value, null, 2)}</pre>;
  return (
    <table className="values">
      <tbody>
        {rows.map(([name, one]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{typeof one === "object" && one !== null ? <pre>{JSON.stringify(one, null, 2)}</pre> : String(one)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
